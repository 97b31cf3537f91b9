#include "tests/core/support/brute_force_with_host.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

namespace rematlas {
namespace {

/// A state of the search. Times are counted from the moment of the state; the time of a finished copy or op
/// is 0.
struct TimedState {
    std::uint32_t device = 0, host = 0, done = 0;  ///< sets: tensors on the device, tensors on the host, ops
                                                   ///< that have run
    std::uint32_t fresh = 0, unused = 0;           ///< tensors that may be offloaded now; tensors that were
                                                   ///< fetched and not read yet
    bool ended = false;                            ///< no further step follows, and all copies are done
    std::uint32_t starts_here = 0,
                  starts_there = 0;  ///< residents that are on the device at both ends of the step;
                                     ///< residents that are on the host at both ends
    std::uint32_t ran_there = 0;     ///< ops that ran on the host
    std::int64_t to_host = 0, to_device = 0, host_ops = 0;  ///< times until the queues are free
    std::array<std::int32_t, 12> arrives{}, on_host{};      ///< per tensor: time until the copy has arrived
    std::array<std::int32_t, 12> used_there{},
        new_there{};  ///< per tensor: time until the host ops that read it are done; the same for host ops
                      ///< that write it
    auto operator<=>(const TimedState&) const = default;

    TimedState later(std::int64_t time) const {
        TimedState s = *this;
        for (auto* until : {&s.to_host, &s.to_device, &s.host_ops})
            *until = std::max<std::int64_t>(0, *until - time);
        for (auto* list : {&s.arrives, &s.on_host, &s.used_there, &s.new_there})
            for (std::int32_t& until : *list) until = std::max(0, until - static_cast<std::int32_t>(time));
        return s;
    }
};

class TimedSearch {
  public:
    TimedSearch(const Graph& graph, std::int64_t budget, const HostSearch& options)
        : graph_(graph), budget_(budget), options_(options) {
        assert(graph.tensors.size() <= 12 && graph.ops.size() <= 16 && graph.device);
        const auto producer = producers(graph);
        for (TensorId t : graph.tensors.ids()) {
            if (!producer[t].valid()) residents_ |= bit(t);
        }
        for (TensorId t : graph.results) results_ |= bit(t);
        for (OpId op : graph.ops.ids()) {
            const Op& o = graph.ops[op];
            if (o.phase != Phase::forward || !o.recomputable || !o.mutates.empty())
                must_run_ |= 1u << op.value;
        }
    }

    std::optional<std::int64_t> run() {
        for (const auto& [here, there] :
             options_.homes ? all_homes() : std::vector{std::pair(residents_, 0u)}) {
            TimedState start;
            start.device = start.starts_here = here;
            start.host = start.starts_there = there;
            start.fresh = here & ~there;
            if (held(start) <= budget_ && host_has_room(start)) reach(0, std::move(start));
        }
        while (!queue_.empty() && seen_.size() < options_.states) {
            const auto [least, minus_time, state] = queue_.top();
            const std::int64_t time = -minus_time;
            queue_.pop();
            if (!seen_.insert(state).second) continue;
            if (state.ended) return time;
            if (may_end(state)) end(state, time);
            expand(state, time);
        }
        return std::nullopt;
    }

  private:
    /// An entry of the queue: a lower bound on the time of all schedules that continue from the state, the
    /// negative time of the state, and the state. Of entries with equal bounds, the latest state comes first.
    using Entry = std::tuple<std::int64_t, std::int64_t, TimedState>;

    /// Returns all choices of homes for residents: device, host, or both. A choice is a pair of sets: the
    /// residents with a home on the device, and those with a home on the host.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all_homes() const {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> homes{{0, 0}};
        for (TensorId t : graph_.tensors.ids()) {
            if (!(residents_ & bit(t))) continue;
            const std::size_t before = homes.size();
            for (std::size_t i = 0; i < before; ++i) {
                const auto [here, there] = homes[i];
                homes[i] = {here | bit(t), there};
                homes.emplace_back(here, there | bit(t));
                homes.emplace_back(here | bit(t), there | bit(t));
            }
        }
        return homes;
    }

    /// Says whether the step may end in this state. If homes can be chosen, results may end on the host.
    bool may_end(const TimedState& s) const {
        const std::uint32_t here = results_ & ~residents_;
        if (here & ~(options_.homes ? s.device | s.host : s.device)) return false;
        const std::uint32_t away = s.starts_there & ~s.starts_here;
        return (s.starts_here & ~s.device) == 0 && (s.starts_there & ~s.host) == 0 &&
               (away & s.device) == 0 && (s.done & must_run_) == must_run_;
    }

    /// Says whether the op keeps the order of updates: other ops that update its residents must have run if
    /// they come before it in the graph, and must not have run if they come after it.
    bool is_in_order(const TimedState& s, OpId id, bool updates) const {
        for (OpId other : graph_.ops.ids()) {
            if (other == id) continue;
            for (TensorId t : graph_.ops[other].mutates) {
                const auto touches = [&](const std::vector<TensorId>& list) {
                    return std::find(list.begin(), list.end(), t) != list.end();
                };
                const bool concerns =
                    touches(graph_.ops[id].inputs) || (updates && touches(graph_.ops[id].mutates));
                const bool done = s.done >> other.value & 1;
                if (concerns && done != (other < id)) return false;
            }
        }
        return true;
    }

    static std::uint32_t bit(TensorId t) { return 1u << t.value; }
    std::int64_t size(TensorId t) const { return graph_.tensors[t].bytes.value; }
    std::int64_t held(const TimedState& s) const {
        std::int64_t sum = 0;
        for (TensorId t : graph_.tensors.ids()) sum += s.device & bit(t) ? size(t) : 0;
        return sum;
    }
    /// Says whether the host has room for the tensors on it and for all residents whose home it is.
    bool host_has_room(const TimedState& s) const {
        std::int64_t sum = 0;
        for (TensorId t : graph_.tensors.ids()) sum += (s.host | s.starts_there) & bit(t) ? size(t) : 0;
        return sum <= options_.host_budget.value_or(sum);
    }
    std::int64_t copy_time(TensorId t, double speed) const {
        return std::llround(static_cast<double>(size(t)) / speed * 1e9);
    }

    void end(const TimedState& s, std::int64_t time) {
        const std::int64_t wait = std::max({s.to_host, s.to_device, s.host_ops});
        TimedState next = s.later(wait);
        next.ended = true;
        reach(time + wait, std::move(next));
    }

    void expand(const TimedState& s, std::int64_t time) {
        for (OpId op : graph_.ops.ids()) {
            run_op(s, time, op, false);
            if (!graph_.ops[op].inplace.empty()) run_op(s, time, op, true);
            if (graph_.ops[op].host_time) run_on_host(s, time, op);
        }
        for (TensorId t : graph_.tensors.ids()) {
            if (size(t) == 0 && (residents_ & bit(t)) && !options_.homes) continue;
            if (s.device & bit(t)) {
                if (!(s.unused & bit(t))) free(s, time, t);
                if ((options_.at_any_time ? s.device : s.fresh) & ~s.host & bit(t)) offload(s, time, t);
            } else if (s.host & bit(t)) {
                fetch(s, time, t);
            }
            if (options_.host_budget && (s.host & ~s.starts_there & bit(t))) drop(s, time, t);
        }
    }

    void reach(std::int64_t time, TimedState&& state) {
        if (seen_.contains(state)) return;
        std::int64_t left = 0;
        for (OpId op : graph_.ops.ids()) {
            const bool must_run = ((must_run_ & ~state.done) >> op.value & 1) && !graph_.ops[op].host_time;
            left += must_run ? graph_.ops[op].time.value : 0;
        }
        queue_.push({time + left, -time, std::move(state)});
    }

    void run_op(const TimedState& s, std::int64_t time, OpId id, bool in_place) {
        const Op& op = graph_.ops[id];
        if (!op.recomputable && (s.done >> id.value & 1)) return;
        if ((s.ran_there >> id.value & 1) || !is_in_order(s, id, !(s.done >> id.value & 1))) return;
        std::int64_t wait = 0, during = held(s) + op.workspace.value;
        for (TensorId t : op.inputs) {
            if (!(s.device & bit(t))) return;
            wait = std::max<std::int64_t>(wait, s.arrives[t.index()]);
        }
        for (TensorId t : op.outputs) during += size(t);
        TimedState next = s;
        next.fresh = 0;
        for (TensorId t : op.inputs) next.unused &= ~bit(t);
        if (!(s.done >> id.value & 1)) {
            for (TensorId t : op.mutates)
                wait = std::max<std::int64_t>({wait, s.arrives[t.index()], s.used_there[t.index()]});
        }
        // A run may neither overwrite nor update a tensor that is still being copied when the run could
        // start.
        const auto is_copied = [&](TensorId t) {
            return std::max(s.arrives[t.index()], s.on_host[t.index()]) > wait;
        };
        for (TensorId t : op.outputs)
            if ((s.device & bit(t)) && is_copied(t)) return;
        if (!(s.done >> id.value & 1)) {
            for (TensorId t : op.mutates) {
                if (!(s.device & bit(t)) || is_copied(t)) return;
                next.host &= ~bit(t);
                next.fresh |= bit(t);
            }
        }
        if (in_place) {
            for (const InplacePair& pair : op.inplace) {
                if ((residents_ & bit(pair.in)) || is_copied(pair.in)) return;
                during -= std::min(size(pair.out), size(pair.in));
                next.device &= ~bit(pair.in);
                next.arrives[pair.in.index()] = 0;
            }
        }
        if (during > budget_) return;
        for (TensorId t : op.outputs) {
            next.device |= bit(t);
            next.arrives[t.index()] = 0;
            next.fresh |= bit(t);
            next.unused &= ~bit(t);
        }
        next.done |= 1u << id.value;
        const std::int64_t passes = wait + op.time.value;
        reach(time + passes, next.later(passes));
    }

    void run_on_host(const TimedState& s, std::int64_t time, OpId id) {
        const Op& op = graph_.ops[id];
        if ((s.done >> id.value & 1) || !is_in_order(s, id, true)) return;
        TimedState next = s;
        std::int64_t begins = s.host_ops;
        for (const auto* list : {&op.inputs, &op.mutates}) {
            for (TensorId t : *list) {
                if (!(s.host & bit(t))) return;
                begins = std::max<std::int64_t>(begins, s.on_host[t.index()]);
            }
        }
        for (TensorId t : op.mutates)
            if (s.device & bit(t)) return;
        const auto done = static_cast<std::int32_t>(begins + op.host_time->value);
        next.host_ops = done;
        for (const auto* list : {&op.inputs, &op.mutates, &op.outputs})
            for (TensorId t : *list) next.used_there[t.index()] = done;
        for (const auto* list : {&op.mutates, &op.outputs}) {
            for (TensorId t : *list) {
                next.new_there[t.index()] = done;
                next.host |= bit(t);
            }
        }
        next.done |= 1u << id.value;
        next.ran_there |= 1u << id.value;
        if (!host_has_room(next)) return;
        reach(time, std::move(next));
    }

    void free(const TimedState& s, std::int64_t time, TensorId t) {
        if ((residents_ & bit(t)) && !(s.host & bit(t))) return;
        if (s.arrives[t.index()] > 0) return;
        const std::int64_t wait = s.on_host[t.index()];
        TimedState next = s;
        next.fresh = 0;
        next.device &= ~bit(t);
        next.arrives[t.index()] = 0;
        reach(time + wait, next.later(wait));
    }

    void offload(const TimedState& s, std::int64_t time, TensorId t) {
        TimedState next = s;
        if (!options_.at_any_time)
            next.fresh &= ~((bit(t) << 1) - 1);  // tensors are offloaded only in ascending order, because all
                                                 // orders would be too many to search
        next.host |= bit(t);
        if (!host_has_room(next)) return;
        next.to_host = std::max<std::int64_t>({s.to_host, s.arrives[t.index()], s.used_there[t.index()]}) +
                       copy_time(t, graph_.device->links.to_host_bytes_per_second);
        next.on_host[t.index()] = static_cast<std::int32_t>(next.to_host);
        reach(time, std::move(next));
    }

    void fetch(const TimedState& s, std::int64_t time, TensorId t) {
        if (held(s) + size(t) > budget_) return;
        TimedState next = s;
        next.fresh = 0;
        next.unused |= bit(t);
        next.device |= bit(t);
        next.to_device = std::max<std::int64_t>({s.to_device, s.on_host[t.index()], s.new_there[t.index()]}) +
                         copy_time(t, graph_.device->links.to_device_bytes_per_second);
        next.arrives[t.index()] = static_cast<std::int32_t>(next.to_device);
        reach(time, std::move(next));
    }

    void drop(const TimedState& s, std::int64_t time, TensorId t) {
        if ((residents_ & bit(t)) && !(s.device & bit(t))) return;
        const std::int64_t wait =
            std::max({s.arrives[t.index()], s.on_host[t.index()], s.used_there[t.index()]});
        TimedState next = s;
        next.fresh = 0;
        next.host &= ~bit(t);
        next = next.later(wait);
        next.on_host[t.index()] = next.used_there[t.index()] = next.new_there[t.index()] = 0;
        reach(time + wait, std::move(next));
    }

    const Graph& graph_;
    std::int64_t budget_;
    HostSearch options_;
    std::uint32_t residents_ = 0, results_ = 0, must_run_ = 0;
    std::set<TimedState> seen_;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::optional<std::int64_t> brute_force_with_host(const Graph& graph, std::int64_t budget,
                                                  const HostSearch& options) {
    return TimedSearch(graph, budget, options).run();
}

}  // namespace rematlas
