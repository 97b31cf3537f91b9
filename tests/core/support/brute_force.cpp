#include "tests/core/support/brute_force.h"

#include <algorithm>
#include <cassert>
#include <queue>
#include <unordered_map>

namespace rematlas {
namespace {

/// A state has three sets of 32 bits each: the tensors that are alive, the ops that have run (if that matters
/// later), and the ops that must not run again on this side of the boundary.
__extension__ using State = unsigned __int128;

struct HashOfState {
    std::size_t operator()(State state) const {
        const std::hash<std::uint64_t> hash;
        return hash(static_cast<std::uint64_t>(state)) * 31 + hash(static_cast<std::uint64_t>(state >> 64));
    }
};

constexpr State alive_bit(std::int32_t tensor) {
    return State{1} << tensor;
}
constexpr State done_bit(std::int32_t op) {
    return State{1} << (32 + op);
}

constexpr State side_bit(std::int32_t op) {
    return State{1} << (64 + op);
}
constexpr State all_sides = ~State{0} << 64;

struct OpMask {
    State inputs = 0, outputs = 0, overwritten = 0, done = 0, side = 0;
    State makers = 0;        ///< bits in the third set: the ops that make the inputs
    std::int64_t extra = 0;  ///< bytes of outputs and workspace
    std::int64_t saved = 0;  ///< bytes saved by an in-place run
    bool once = false;
};

class Search {
  public:
    Search(const FlatGraph& graph, std::int64_t budget, const Forgotten& forgotten)
        : graph_(graph), budget_(budget), forgetting_(forgotten.op) {
        for (std::int32_t t : forgotten.tensors) forgotten_ |= alive_bit(t);
        assert(graph.op_count <= 32 && graph.tensor_count <= 32);
        for (int op = 0; op < graph.op_count; ++op) ops_.push_back(mask(op));
        for (int op = 0; op < graph.op_count; ++op) {
            if (graph.required[op]) goal_ |= done_bit(op);
        }
        for (std::int32_t t : graph.results) goal_ |= alive_bit(t);
    }

    std::optional<Optimum> run() {
        if (graph_.resident_bytes > budget_) return std::nullopt;
        reach(0, 0, 0, {});
        while (!queue_.empty()) {
            const auto [time, state] = queue_.top();
            queue_.pop();
            if (time > best_.at(state).time) continue;
            if ((state & goal_) == goal_) return Optimum{time, path(state)};
            expand(state, time);
        }
        return std::nullopt;
    }

  private:
    struct Reached {
        std::int64_t time;
        State from;
        Step step;
    };
    struct Entry {
        std::int64_t time;
        State state;
        bool operator>(const Entry& o) const { return time > o.time; }
    };

    OpMask mask(int op) const {
        OpMask m;
        for (std::int32_t t : graph_.inputs[op]) m.inputs |= alive_bit(t);
        for (std::int32_t t : graph_.outputs[op]) {
            m.outputs |= alive_bit(t);
            m.extra += graph_.bytes[t];
        }
        m.extra += graph_.workspace[op];
        for (const FlatGraph::Pair& pair : graph_.inplace_pairs(op)) {
            m.overwritten |= alive_bit(pair.in);
            m.saved += std::min(graph_.bytes[pair.in], graph_.bytes[pair.out]);
        }
        m.once = !graph_.recomputable[op];
        if (graph_.required[op] || m.once) m.done = done_bit(op);
        if (graph_.boundary >= 0) m.side = side_bit(op);
        for (std::int32_t t : graph_.inputs[op])
            if (graph_.boundary >= 0) m.makers |= side_bit(graph_.producer[t]);
        return m;
    }

    std::int64_t bytes_alive(State state) const {
        std::int64_t sum = graph_.resident_bytes;
        for (int t = 0; t < graph_.tensor_count; ++t) {
            if (state & alive_bit(t)) sum += graph_.bytes[t];
        }
        return sum;
    }

    void expand(State state, std::int64_t time) {
        const std::int64_t held = bytes_alive(state);
        for (int op = 0; op < graph_.op_count; ++op) {
            const OpMask& m = ops_[static_cast<std::size_t>(op)];
            // If old outputs are alive, they are freed before the rerun; that is never worse than holding
            // both.
            if ((state & m.inputs) != m.inputs || (state & m.outputs) != 0) continue;
            if ((m.once && (state & m.done)) || (state & m.side)) continue;
            const bool forgets = op == forgetting_ && !(state & done_bit(op));
            State after = ((forgets ? state & ~forgotten_ : state) | m.outputs | m.done | m.side);
            if (op == graph_.boundary) after &= ~all_sides;
            if (graph_.boundary >= 0 && (state & done_bit(graph_.boundary))) after |= m.makers;
            if (held + m.extra <= budget_) reach(after, time + graph_.time[op], state, Step::run(OpId(op)));
            if (m.overwritten && held + m.extra - m.saved <= budget_) {
                reach(after & ~m.overwritten, time + graph_.time[op], state, Step::run_inplace(OpId(op)));
            }
        }
        for (int t = 0; t < graph_.tensor_count; ++t) {
            if (state & alive_bit(t)) reach(state & ~alive_bit(t), time, state, Step::free(TensorId(t)));
        }
    }

    void reach(State state, std::int64_t time, State from, Step step) {
        const auto [at, fresh] = best_.try_emplace(state, Reached{time, from, step});
        if (!fresh) {
            if (at->second.time <= time) return;
            at->second = {time, from, step};
        }
        queue_.push({time, state});
    }

    std::vector<Step> path(State state) const {
        std::vector<Step> steps;
        while (state != 0) {
            const Reached& r = best_.at(state);
            steps.push_back(r.step);
            state = r.from;
        }
        std::reverse(steps.begin(), steps.end());
        return steps;
    }

    const FlatGraph& graph_;
    std::int64_t budget_;
    std::int32_t forgetting_;
    State forgotten_ = 0;
    std::vector<OpMask> ops_;
    State goal_ = 0;
    std::unordered_map<State, Reached, HashOfState> best_;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::optional<Optimum> brute_force(const FlatGraph& graph, std::int64_t budget, const Forgotten& forgotten) {
    return Search(graph, budget, forgotten).run();
}

std::int64_t brute_force_least_peak(const FlatGraph& graph) {
    std::int64_t least = graph.resident_bytes, most = graph.resident_bytes;
    for (int op = 0; op < graph.op_count; ++op) most += graph.workspace[op];
    for (std::int64_t bytes : graph.bytes) most += bytes;
    while (least < most) {
        const std::int64_t middle = least + (most - least) / 2;
        if (brute_force(graph, middle)) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    return most;
}

}  // namespace rematlas
