// OffMate's integer program: it chooses an option for each block of the step, and how many bytes are on the
// host in each stage.
//
//     const BlockProgramme programme(graph, flat, level, blocks, placed_runs, limits);
//     const Result<MilpAnswer> answer = solve_milp(library, programme.milp(), {});
//     RunSequence runs = level.lowered(programme.decode(answer->values));
//
// Source: OffMate (2024; core/solvers/offmate/offmate.h). Each block runs forward once and backward once,
// with one of its options: some of the block's tensors are saved, others are made again. So all recomputation
// is part of the options. "Away" means on the host and not on the device.
//
// Columns, besides the columns of copy_flows.h:
//     x[b,k]   integer: block b runs with option k; exactly one k for each block
//     u[t,r]   1 if tensor t, which a block passes on, is needed by t's backward reader r or a later reader
//     a[b]     bytes saved by block b that are away between the block's forward and backward run
//     c[t]     bytes of a passed-on tensor t that are away between its last forward and first backward reader
//     h[g]     fraction of group g that lives on the host; a group has residents touched in the same stages
//     i[g,j]   fraction of group g that is away between the j-th of these stages and the next
//
// The first stage is the start of the step. Each forward run of a block is a stage. Then each backward run is
// a stage, in reverse order; the optimizer's ops that follow it belong to the stage. The last stage is the
// end. The compute time of a stage depends on the chosen options. The bytes of a stage are all residents and
// the bytes that Level::cost_of counts for the options. A tensor made by a backward run exists until its last
// reader; results may end on the host. A solution may copy parts of tensors. The linear program on the runs
// (away_programme.h) then decides about whole tensors.
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
    std::int64_t least_copy = 0;  ///< bytes; smaller residents stay on the device
    bool activations = true;      ///< whether tensors that ops make may be away
    bool residents = false;       ///< whether residents may be away, and results may end on the host
    double price = 0.01;          ///< in the objective, a second of copying counts as this many seconds
    int most_options = 500;       ///< limit on the options to choose from, for all blocks together
};

class BlockProgramme {
  public:
    /// `runs` has each op of the level once, and the optimizer's ops between them. `blocks` are the blocks of
    /// the level. The graphs and the level must outlive the object. Cost: linear in blocks, options and
    /// tensors between blocks.
    BlockProgramme(const Graph& graph, const FlatGraph& flat, const hierarchical::Level& level,
                   const std::vector<const Subproblem*>& blocks, const std::vector<PlacedRun>& runs,
                   const BlockLimits& limits);

    const MilpModel& milp() const { return milp_; }
    hierarchical::LevelSchedule decode(std::span<const double> values) const;

  private:
    struct Resident {
        std::vector<int> stages;  ///< stages in which the tensor is touched
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
    int away_at_most(const MilpSum& most);

    const Graph& graph_;
    const FlatGraph& flat_;
    const hierarchical::Level& level_;
    const BlockLimits limits_;
    double byte_scale_ = 1, time_scale_ = 1;
    MilpModel milp_;
    std::vector<std::vector<std::int32_t>> offered_;  ///< by block: indices of the options to choose from
    std::vector<std::vector<int>> option_;            ///< by block and position in `offered_`: columns
    std::vector<CopyFlows::Stage> needs_;
    std::vector<CopyFlows::Item> flows_;
    std::vector<int> stage_of_;  ///< by op: its stage, or -1
    MilpSum on_host_;
};

}  // namespace rematlas::offmate
