// The mixed-integer program of one level (H-ILP: Gusak et al., ICML 2025). It decides in which stages each
// block runs, and with which option.
//
// The class of schedules: each block's first forward visit has its own stage, in the order of the blocks. The
// next stage belongs to `outside`. Then each backward visit has its own stage, in reverse order. Before its
// own visit, a stage may run blocks forward again, in order and each at most once. A block is saved once.
// Memory is counted as in `Level::cost_of`: a tensor is freed after a visit if no later visit of the stage
// needs it and the next stage does not keep it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/milp/milp.h"
#include "core/solvers/hierarchical/level.h"
#include "core/solving/programme.h"

namespace rematlas::hierarchical {

class LevelModel {
  public:
    /// `budget` is in bytes, as `Level::cost_of` counts them. `level` must outlive the model. Times are
    /// scaled so that running all blocks once with their fastest options takes 1,000. Bytes are scaled so
    /// that the budget is 1,000. Cost: blocks^2 * options columns; the number of rows grows with the tensors
    /// that blocks share.
    LevelModel(const Level& level, std::int64_t budget);

    const MilpModel& milp() const { return milp_; }

    /// Returns the schedule for an integral solution.
    LevelSchedule decode(std::span<const double> values) const;

    /// Returns the values of the columns for a schedule, or nullopt if the schedule is not in the class. The
    /// order of the reruns within a stage is not encoded: `decode` returns them in ascending order.
    std::optional<std::vector<double>> encode(const LevelSchedule& schedule) const;

  private:
    int stages() const { return 2 * level_.size() + level_.has_outside(); }
    int backward_stage(int block) const { return stages() - 1 - block; }
    int backward_block(int stage) const { return stages() - 1 - stage; }
    bool is_forward(int stage) const { return stage < level_.size(); }
    bool is_outside(int stage) const { return level_.has_outside() && stage == level_.size(); }
    bool may_run(int stage, int block) const;

    void add_runs();
    void add_kept();
    void find_fixed();
    void add_stage(int stage);
    void add_reads(int stage);
    void add_memory(int stage);

    MilpSum runs(int stage, int block) const;  ///< 1 if the block runs forward in the stage
    MilpSum chosen(int block, int option) const;
    MilpSum saved_before(int stage, int block) const;  ///< saved bytes before the visit of `block`
    MilpSum kept(int stage, int tensor) const;         ///< 1 if the tensor exists when the stage begins
    /// Returns a sum for each possible use of the tensor after the visit of `block`. The sum is 1 if the use
    /// takes place, else 0. The tensor must stay if any of the sums is 1.
    std::vector<MilpSum> needs_after(int stage, int block, int tensor) const;
    double value(const MilpSum& sum, std::span<const double> values) const;

    const Level& level_;
    double time_scale_, byte_scale_;
    double budget_;
    std::vector<std::vector<int>> advance_;            ///< [stage][block]: the column, or -1
    std::vector<std::vector<std::vector<int>>> save_;  ///< [stage][block][option]: the column; empty if the
                                                       ///< block cannot run forward in the stage
    std::vector<std::vector<int>> kept_;               ///< [stage][tensor]: the column, or -1
    std::vector<int> made_, last_read_;  ///< by tensor of a backward visit or of `outside`: the stages in
                                         ///< which it is made and last read; of results: `stages()`
    struct Alive {
        int column, stage, block, tensor;
    };
    std::vector<Alive> alive_;  ///< columns that say whether a tensor exists after a visit, in the order of
                                ///< the columns
    MilpModel milp_;
};

/// Solves the integer program. Returns its best schedule, or `start` if no schedule was better. The library
/// starts from `start` if `start` fits and is in the class. Ends at most 50 ms after the deadline.
LevelSchedule solve_programme(const Level& level, LevelSchedule start, std::int64_t budget,
                              const ProgrammeLimits& limits, const Deadline& deadline);

}  // namespace rematlas::hierarchical
