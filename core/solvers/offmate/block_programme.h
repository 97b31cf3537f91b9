// OffMate's programme: with which of its options each block of the step runs, when bytes may be away meanwhile.
//
//     const BlockProgramme programme(graph, flat, level, limits);
//     run_programme(..., [&](auto values) { runs = level.lowered(programme.decode(values)); });
//
// Source: OffMate (2024; core/solvers/offmate/offmate.h). Each block runs forward once, with an option that
// saves some of its tensors and makes others again, and backward once: so recomputation is what the options
// do. Columns, beside those of copy_flows.h:
//     x[b,k]   integer: block b runs with option k; one for each block
//     u[t,r]   tensor t, which block maker(t) passes on, is needed by its backward reader r or a later one
//     a[b]     bytes of what block b saves that are away between its forward and its backward run
//     c[t]     bytes of a tensor passed on that are away from its last forward to its first backward reader
//     h[g]     of residents that are touched in the same stages: the fraction that lives on the host
//     i[g,j]   of the same: the fraction that is away between two of these stages
// Stages: the start, the blocks forward, the blocks backward in reverse order with the optimizer's ops that
// follow them, the end. A stage's compute is that of the chosen options, its bytes those that Level::cost_of
// counts for them and all residents. What is made by backward runs is there until its last reader; results
// may end on the host. Every point in whole numbers is a schedule as far as bytes are fluid: what single
// tensors do is left to the programme on the runs themselves (away_programme.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/links.h"
#include "core/milp/milp.h"
#include "core/solvers/hierarchical/level.h"
#include "core/solvers/offmate/copy_flows.h"
#include "core/solvers/offmate/lifetimes.h"

namespace rematlas::offmate {

struct BlockLimits {
    Links links;
    std::int64_t budget = 0;
    std::optional<std::int64_t> host_budget = {};
    std::int64_t least_copy = 0;  ///< bytes: smaller residents stay
    bool activations = true;      ///< what ops make may be away
    bool residents = false;       ///< and what no op makes; results may end on the host
    double price = 0.01;          ///< of link time, as a share of time
    int most_options = 500;       ///< of all blocks together
};

class BlockProgramme {
  public:
    /// `runs`: each op of the level once, with the optimizer's ops between them. `blocks`: those of the
    /// level. All but the limits must outlive it. Cost: linear in blocks, options and tensors between blocks.
    BlockProgramme(const Graph& graph, const FlatGraph& flat, const hierarchical::Level& level,
                   const std::vector<const Subproblem*>& blocks, const std::vector<PlacedRun>& runs,
                   const BlockLimits& limits);

    const MilpModel& milp() const { return milp_; }
    hierarchical::LevelSchedule decode(std::span<const double> values) const;

  private:
    struct Resident {
        std::vector<int> stages;  ///< in which it is touched
        bool changed = false;
    };

    int blocks() const { return level_.size(); }
    int stages() const { return 2 * blocks() + 2; }
    static int forward_stage(int block) { return block + 1; }
    int backward_stage(int block) const { return 2 * blocks() - block; }

    void place_ops(const std::vector<const Subproblem*>& blocks, const std::vector<PlacedRun>& runs);
    void add_options();
    void add_passed_on(int tensor);
    void add_made_backward();
    void add_residents();
    void add_group(const Resident& group, double bytes);
    int away_at_most(const Sum& most);
    Sum chosen(int block, int k, double factor) const;

    const Graph& graph_;
    const FlatGraph& flat_;
    const hierarchical::Level& level_;
    const BlockLimits limits_;
    double byte_scale_ = 1, time_scale_ = 1;
    MilpModel milp_;
    std::vector<std::vector<std::int32_t>> offered_;  ///< by block: options
    std::vector<std::vector<int>> option_;            ///< by block and place in `offered_`: columns
    std::vector<CopyFlows::Stage> needs_;
    std::vector<CopyFlows::Item> flows_;
    std::vector<int> stage_of_;  ///< by op, or -1
    Sum on_host_;
};

}  // namespace rematlas::offmate
