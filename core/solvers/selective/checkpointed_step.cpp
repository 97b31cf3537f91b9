#include "core/solvers/selective/checkpointed_step.h"

#include <algorithm>

namespace rematlas {
namespace {

class Player {
  public:
    Player(const Graph& graph, const FlatGraph& flat, const std::vector<Region>& regions,
           const SaveSet& save_set)
        : graph_(graph),
          flat_(flat),
          regions_(regions),
          save_set_(save_set),
          region_of_(flat.op_count, -1),
          again_at_(flat.op_count, -1),
          run_at_(flat.op_count, -1),
          first_use_(flat.tensor_count, -1),
          again_use_(flat.tensor_count, -1) {
        for (const int region : save_set.regions)
            for (const std::int32_t op : regions[region].ops) region_of_[op] = region;
    }

    CheckpointedStep play() {
        order();
        find_last_uses();
        run();
        return std::move(made_);
    }

  private:
    std::int32_t last() const { return static_cast<std::int32_t>(made_.moments.size()) - 1; }

    /// Lists the moments: the ops in the graph's order, and the reruns of each checkpointed region before the
    /// first backward op that needs the region.
    void order() {
        std::vector<std::vector<int>> triggered(flat_.op_count);
        for (auto region = save_set_.regions.rbegin(); region != save_set_.regions.rend(); ++region)
            triggered[regions_[*region].first_backward].push_back(*region);
        for (int op = 0; op < flat_.op_count; ++op) {
            for (const int region : triggered[op]) run_again(regions_[region]);
            made_.moments.push_back({.op = op});
            run_at_[op] = last();
        }
    }

    void run_again(const Region& region) {
        for (int i = 0; i < region.rerun; ++i) {
            const std::int32_t op = region.ops[i];
            const bool left_out = save_set_.saved[op] != 0 || only_counts(flat_, op);
            made_.moments.push_back({.op = op, .again = true, .left_out = left_out});
            again_at_[op] = last();
        }
    }

    bool is_made_again(std::int32_t t) const {
        const std::int32_t maker = flat_.producer[t];
        return again_at_[maker] >= 0 && !save_set_.saved[maker];
    }

    /// Returns the region whose rerun makes tensors that the op reads at this moment. Returns -1 if the op
    /// reads only tensors of first runs.
    int reads_from(const Moment& moment) const {
        if (moment.again) return region_of_[moment.op];
        const std::int32_t of = forward_of(graph_, moment.op);
        return of < 0 ? -1 : region_of_[of];
    }

    /// Finds for each op the first and the last op of its autograd node. The ops of a node are consecutive
    /// backward ops that belong to the same forward op.
    void find_nodes() {
        node_begin_.resize(flat_.op_count);
        node_end_.resize(flat_.op_count);
        for (std::int32_t op = 0; op < flat_.op_count; ++op) {
            const std::int32_t of = forward_of(graph_, op);
            const bool goes_on = op > 0 && of >= 0 && of == forward_of(graph_, op - 1);
            node_begin_[op] = goes_on ? node_begin_[op - 1] : op;
        }
        for (std::int32_t op = flat_.op_count; op-- > 0;) {
            const bool goes_on = op + 1 < flat_.op_count && node_begin_[op + 1] == node_begin_[op];
            node_end_[op] = goes_on ? node_end_[op + 1] : op;
        }
    }

    void find_last_uses() {
        find_nodes();
        made_.read_again.assign(flat_.tensor_count, -1);
        for (std::int32_t at = 0; at <= last(); ++at) {
            const Moment& moment = made_.moments[at];
            const int from = reads_from(moment);
            const bool backward = graph_.ops[OpId(moment.op)].phase == Phase::backward;
            const bool unknown = backward && forward_of(graph_, moment.op) < 0;
            if (moment.left_out)  // a saved tensor is held until its op's place in the rerun
                for (const std::int32_t t : flat_.outputs[moment.op])
                    first_use_[t] = std::max(first_use_[t], at);
            for (const std::int32_t t : flat_.inputs[moment.op]) {
                const int of = region_of_[flat_.producer[t]];
                const bool again = of >= 0 && (of == from || unknown) && is_made_again(t) &&
                                   again_at_[flat_.producer[t]] < at;
                const bool given = flat_.producer[t] < node_begin_[moment.op];
                std::int32_t& use = (again ? again_use_ : first_use_)[t];
                use = std::max(use, moment.again || !given ? at : run_at_[node_end_[moment.op]]);
                if (again && backward) made_.read_again[t] = at;
            }
        }
        for (const int region : save_set_.regions) {
            const std::int32_t held = run_at_[regions_[region].last_backward];
            for (const std::int32_t t : regions_[region].inputs)
                first_use_[t] = std::max(first_use_[t], held);
        }
    }

    /// Finds the moment at which each tensor dies.
    void find_deaths() {
        const std::int32_t end = last() + 1;
        dying_.assign(made_.moments.size() + 1, {});
        made_.dies.assign(flat_.tensor_count, -1);
        made_.made_again.assign(flat_.tensor_count, -1);
        for (std::int32_t t = 0; t < flat_.tensor_count; ++t) {
            const std::int32_t maker = flat_.producer[t];
            if (maker < 0) continue;
            std::int32_t dies = std::max(first_use_[t], run_at_[maker]);
            if (flat_.is_result[t]) dies = end;
            if (is_made_again(t)) {
                const std::int32_t again = again_at_[maker];
                made_.made_again[t] = again;
                const std::int32_t dies_again = std::max(again_use_[t], again);
                if (dies < again) {
                    dying_[dies].push_back(t);
                    made_.dies[t] = dies;
                    dies = dies_again;
                } else {
                    made_.dies[t] = dies = std::max(dies, dies_again);
                }
            } else {
                made_.dies[t] = dies;
            }
            dying_[dies].push_back(t);
        }
    }

    void run() {
        find_deaths();
        std::vector<std::uint8_t> alive(flat_.tensor_count, 0);
        std::int64_t bytes = made_.peak = flat_.resident_bytes;
        for (std::int32_t at = 0; at <= last(); ++at) {
            const Moment& moment = made_.moments[at];
            std::vector<std::int32_t>& dying = dying_[at];
            std::int64_t during = bytes;
            if (!moment.left_out) {
                const auto pairs = flat_.inplace_pairs(moment.op);
                const auto dies = [&](const FlatGraph::Pair& pair) {
                    return std::find(dying.begin(), dying.end(), pair.in) != dying.end();
                };
                const bool in_place = !pairs.empty() && std::all_of(pairs.begin(), pairs.end(), dies);
                during += flat_.workspace[moment.op];
                for (const std::int32_t t : flat_.outputs[moment.op]) {
                    during += flat_.bytes[t];
                    if (!alive[t]) bytes += flat_.bytes[t];
                    alive[t] = 1;
                }
                if (in_place) {
                    for (const FlatGraph::Pair& pair : pairs) {
                        during -= pair.saved;
                        bytes -= flat_.bytes[pair.in];
                        alive[pair.in] = 0;
                        std::erase(dying, pair.in);
                    }
                }
                made_.time += flat_.time[moment.op];
                made_.steps.push_back(in_place ? Step::run_inplace(OpId(moment.op))
                                               : Step::run(OpId(moment.op)));
            }
            made_.during.push_back(during);
            made_.peak = std::max(made_.peak, during);
            for (const std::int32_t t : dying) {
                bytes -= flat_.bytes[t];
                alive[t] = 0;
                made_.steps.push_back(Step::free(TensorId(t)));
            }
        }
    }

    const Graph& graph_;
    const FlatGraph& flat_;
    const std::vector<Region>& regions_;
    const SaveSet& save_set_;
    std::vector<int> region_of_;                   ///< by op: the checkpointed region, or -1
    std::vector<std::int32_t> again_at_, run_at_;  ///< by op: moments of its rerun and first run; -1: none
    std::vector<std::int32_t> node_begin_, node_end_;  ///< by op: first and last op of its autograd node
    std::vector<std::int32_t> first_use_, again_use_;
    std::vector<std::vector<std::int32_t>> dying_;
    CheckpointedStep made_;
};

}  // namespace

CheckpointedStep play(const Graph& graph, const FlatGraph& flat, const std::vector<Region>& regions,
                      const SaveSet& save_set) {
    return Player(graph, flat, regions, save_set).play();
}

}  // namespace rematlas
