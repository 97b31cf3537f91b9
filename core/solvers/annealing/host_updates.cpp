#include "core/solvers/annealing/host_updates.h"

#include <algorithm>
#include <utility>

namespace rematlas::annealing {

namespace {

class Finder {
  public:
    Finder(const Problem& problem, std::span<const std::uint8_t> may_leave, const UpdateChoice& chosen)
        : graph_(problem.graph),
          flat_(problem.flat),
          may_leave_(may_leave),
          chosen_(chosen),
          allowed_(rematlas::may_leave(problem.graph, problem.copies)),
          ends_there_(may_end_on_host(problem.graph, problem.copies)),
          touching_(problem.graph.tensors.size()) {
        for (const OpId op : graph_.ops.ids()) {
            if (!flat_.required[op.index()]) continue;
            for (const TensorId t : graph_.ops[op].inputs) touching_[t].push_back(op);
            for (const TensorId t : graph_.ops[op].mutates)
                if (touching_[t].empty() || touching_[t].back() != op) touching_[t].push_back(op);
        }
    }

    HostUpdates find() {
        IdVector<OpId, char> on_host(graph_.ops.size(), 0);
        for (const OpId op : graph_.ops.ids()) on_host[op] = can_run(op);
        IdVector<TensorId, char> placed(graph_.tensors.size(), 0);
        HostUpdates found;
        for (const OpId op : graph_.ops.ids()) {
            if (!on_host[op]) continue;
            HostUpdates::Run run{.op = op.value,
                                 .time = graph_.ops[op].host_time->value,
                                 .inputs = {flat_.inputs[op.index()].begin(), flat_.inputs[op.index()].end()},
                                 .updated = {}};
            for (const auto* list : {&graph_.ops[op].inputs, &graph_.ops[op].mutates}) {
                for (const TensorId t : *list) {
                    if (flat_.producer[t.index()] >= 0 || std::exchange(placed[t], 1)) continue;
                    const bool here = std::any_of(touching_[t].begin(), touching_[t].end(),
                                                  [&](OpId other) { return !on_host[other]; });
                    auto& where = !here ? found.there : mutates(op, t) ? run.updated : found.both;
                    where.push_back(t.value);
                }
            }
            found.runs.push_back(std::move(run));
        }
        return found;
    }

  private:
    bool mutates(OpId op, TensorId t) const {
        const auto& list = graph_.ops[op].mutates;
        return std::find(list.begin(), list.end(), t) != list.end();
    }
    bool is_update(OpId op) const { return graph_.ops[op].phase == Phase::optimizer; }

    bool can_run(OpId id) const {
        const Op& op = graph_.ops[id];
        if (!is_update(id) || !chosen_[id.index()] || !op.host_time || !op.outputs.empty()) return false;
        const auto every = [](const std::vector<TensorId>& list, const auto& holds) {
            return std::all_of(list.begin(), list.end(), holds);
        };
        return every(op.mutates, [&](TensorId t) { return can_update(id, t); }) &&
               every(op.inputs, [&](TensorId t) { return mutates(id, t) || can_read(t); });
    }

    bool can_update(OpId id, TensorId t) const {
        for (const OpId other : touching_[t])
            if (other != id && (is_update(other) || other > id || mutates(other, t))) return false;
        return touching_[t].size() == 1 ? allowed_[t] != 0 : may_leave_[t.index()] != 0;
    }

    bool can_read(TensorId t) const {
        const std::int32_t maker = flat_.producer[t.index()];
        if (maker >= 0)
            return (may_leave_[t.index()] || is_mark(t)) && !is_update(OpId(maker)) &&
                   (!flat_.is_result[t.index()] || ends_there_[t]);
        return allowed_[t] && std::none_of(touching_[t].begin(), touching_[t].end(),
                                           [&](OpId other) { return mutates(other, t); });
    }

    /// Says whether the tensor is a mark. A mark has 0 bytes and only orders two ops: its maker reads some
    /// tensor, and the reader of the mark updates that tensor later. A mark is copied only so that an op on
    /// the host can wait for it.
    bool is_mark(TensorId t) const { return flat_.bytes[t.index()] == 0 && allowed_[t]; }

    const Graph& graph_;
    const FlatGraph& flat_;
    const std::span<const std::uint8_t> may_leave_;
    const UpdateChoice& chosen_;
    const IdVector<TensorId, char> allowed_, ends_there_;
    IdVector<TensorId, std::vector<OpId>>
        touching_;  ///< per tensor: required ops that read or update it, in the graph's order
};

}  // namespace

HostUpdates host_updates(const Problem& problem, std::span<const std::uint8_t> may_leave,
                         const UpdateChoice& chosen) {
    return Finder(problem, may_leave, chosen).find();
}

}  // namespace rematlas::annealing
