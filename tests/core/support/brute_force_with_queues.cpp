#include "tests/core/support/brute_force_with_queues.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <queue>
#include <set>
#include <tuple>

namespace rematlas {
namespace {

/// A state of the search. Times are counted from the moment of the state; times in the past are 0.
struct QueuedState {
    std::uint32_t device = 0, done = 0;           ///< sets: tensors on the device, ops that have run
    std::uint32_t unused = 0;                     ///< tensors that no op has read since their last run
    std::array<std::int32_t, 2> queues{};         ///< times until the queues are idle
    std::array<std::int32_t, 16> made{}, read{};  ///< per tensor: time until the collective that makes it is
                                                  ///< done; the same for collectives that read it
    bool is_over = false;
    auto operator<=>(const QueuedState&) const = default;

    QueuedState later(std::int64_t time) const {
        QueuedState s = *this;
        const auto pass = [&](auto& list) {
            for (std::int32_t& until : list) until = std::max(0, until - static_cast<std::int32_t>(time));
        };
        pass(s.queues);
        pass(s.made);
        pass(s.read);
        return s;
    }
};

class QueuedSearch {
  public:
    QueuedSearch(const Graph& graph, std::int64_t budget) : graph_(graph), budget_(budget) {
        assert(graph.tensors.size() <= 16 && graph.ops.size() <= 16);
        residents_ = (1u << graph.tensors.size()) - 1;
        for (const Op& op : graph.ops)
            for (TensorId t : op.outputs) residents_ &= ~bit(t);
        for (TensorId t : graph.results) results_ |= bit(t);
        for (OpId id : graph.ops.ids()) {
            const Op& op = graph.ops[id];
            if (op.phase != Phase::forward || !op.recomputable) must_run_ |= 1u << id.value;
            if (op.collective && first_queue_.empty()) first_queue_ = op.collective->queue;
        }
    }

    std::optional<std::int64_t> run(std::size_t states) {
        QueuedState start;
        start.device = residents_;
        if (held(start.device) <= budget_) reach(0, start);
        while (!open_.empty() && seen_.size() < states) {
            const auto [least, minus_time, state] = open_.top();
            open_.pop();
            if (!seen_.insert(state).second) continue;
            if (state.is_over) return -minus_time;
            expand(state, -minus_time);
        }
        return std::nullopt;
    }

  private:
    using Entry = std::tuple<std::int64_t, std::int64_t, QueuedState>;

    static std::uint32_t bit(TensorId t) { return 1u << t.value; }
    std::int64_t size(TensorId t) const { return graph_.tensors[t].bytes.value; }
    std::int64_t held(std::uint32_t device) const {
        std::int64_t sum = 0;
        for (TensorId t : graph_.tensors.ids()) sum += device & bit(t) ? size(t) : 0;
        return sum;
    }

    void expand(const QueuedState& s, std::int64_t time) {
        if ((results_ & ~s.device) == 0 && (residents_ & ~s.device) == 0 &&
            (s.done & must_run_) == must_run_) {
            const std::int64_t wait = std::max(s.queues[0], s.queues[1]);
            QueuedState end;
            end.is_over = true;
            reach(time + wait, end);
        }
        for (OpId op : graph_.ops.ids()) {
            run_op(s, time, op, false);
            if (!graph_.ops[op].inplace.empty()) run_op(s, time, op, true);
        }
        for (TensorId t : graph_.tensors.ids()) {
            if (!(s.device & bit(t)) || residents_ & bit(t) || s.unused & bit(t)) continue;
            const std::int64_t wait = std::max(s.made[t.index()], s.read[t.index()]);
            QueuedState next = s.later(wait);
            next.device &= ~bit(t);
            reach(time + wait, next);
        }
    }

    void run_op(const QueuedState& s, std::int64_t time, OpId id, bool in_place) {
        const Op& op = graph_.ops[id];
        if (!op.recomputable && s.done >> id.value & 1) return;
        std::int32_t wait = 0;
        std::int64_t during = held(s.device) + op.workspace.value;
        std::uint32_t device = s.device, unused = s.unused;
        for (TensorId t : op.inputs) {
            if (!(s.device & bit(t))) return;
            wait = std::max(wait, s.made[t.index()]);
            unused &= ~bit(t);
        }
        for (TensorId t : op.outputs) {
            during += size(t);
            if (s.device & bit(t)) wait = std::max({wait, s.made[t.index()], s.read[t.index()]});
        }
        for (const InplacePair& pair : op.inplace) {
            if (!in_place) break;
            if (residents_ & bit(pair.in)) return;
            during -= std::min(size(pair.in), size(pair.out));
            wait = std::max({wait, s.made[pair.in.index()], s.read[pair.in.index()]});
            device &= ~bit(pair.in);
        }
        if (during > budget_) return;
        for (TensorId t : op.outputs) {
            device |= bit(t);
            if (op.outputs.size() == 1 && !(must_run_ >> id.value & 1)) unused |= bit(t);
        }
        QueuedState next = s.later(wait);
        next.device = device;
        next.unused = unused;
        next.done |= 1u << id.value;
        const auto duration = static_cast<std::int32_t>(op.time.value);
        if (!op.collective) return reach(time + wait + duration, next.later(duration));
        std::int32_t& end = next.queues[op.collective->queue == first_queue_ ? 0 : 1];
        end += duration;
        for (TensorId t : op.outputs) next.made[t.index()] = end;
        for (TensorId t : op.inputs) next.read[t.index()] = std::max(next.read[t.index()], end);
        reach(time + wait, next);
    }

    void reach(std::int64_t time, const QueuedState& state) {
        if (seen_.contains(state)) return;
        std::int64_t compute = 0;
        std::array<std::int64_t, 2> wire{state.queues[0], state.queues[1]};
        for (OpId id : graph_.ops.ids()) {
            if (state.is_over || !((must_run_ & ~state.done) >> id.value & 1)) continue;
            const Op& op = graph_.ops[id];
            if (!op.collective)
                compute += op.time.value;
            else
                wire[op.collective->queue == first_queue_ ? 0 : 1] += op.time.value;
        }
        open_.push({time + std::max({compute, wire[0], wire[1]}), -time, state});
    }

    const Graph& graph_;
    const std::int64_t budget_;
    std::uint32_t residents_ = 0, results_ = 0, must_run_ = 0;
    std::string first_queue_;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
    std::set<QueuedState> seen_;
};

}  // namespace

std::optional<std::int64_t> brute_force_with_queues(const Graph& graph, std::int64_t budget,
                                                    std::size_t states) {
    return QueuedSearch(graph, budget).run(states);
}

}  // namespace rematlas
