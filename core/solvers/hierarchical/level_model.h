// The mixed-integer programme of one level (H-ILP: Gusak et al., ICML 2025): which option of which block runs
// in which stage.
//
// The class of schedules: a stage for each block's first forward visit, in order, one for `outside`, and one
// for each backward visit, in reverse order. Before its own visit a stage may run blocks forward again, in
// order, each once at most. A block is saved once. Memory is that of `Level::cost_of`: what a visit does not
// need any more, nor a later one of the stage or the next stage, is freed.
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
    /// `budget` in bytes, as `Level::cost_of` counts them. Cost: blocks^2 * options columns, and rows by the
    /// number of tensors that blocks share. `level` must outlive the model. Times are scaled so that all
    /// blocks once, with their fastest options, take 1,000; bytes so that the budget is 1,000.
    LevelModel(const Level& level, std::int64_t budget);

    const MilpModel& milp() const { return milp_; }

    /// The schedule that a solution in whole numbers stands for.
    LevelSchedule decode(std::span<const double> values) const;

    /// The point of the programme for a schedule, reruns sorted within their stage; nothing where the
    /// schedule is not of the class.
    std::optional<std::vector<double>> encode(const LevelSchedule& schedule) const;

  private:
    /// A sum of columns and a constant.
    struct Sum {
        std::vector<std::pair<int, double>> columns;
        double constant = 0;
        void add(int column, double factor = 1) { columns.emplace_back(column, factor); }
        void add(const Sum& other, double factor = 1);
    };

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
    void add_at_most(Sum sum, double most);

    Sum runs(int stage, int block) const;  ///< the block runs forward in the stage
    Sum chosen(int block, int option) const;
    Sum saved_before(int stage, int block) const;  ///< bytes saved before the visit of `block` in the stage
    Sum kept(int stage, int tensor) const;         ///< there when the stage begins
    /// What needs the tensor after the visit of `block`, one sum each: if one of them is 1, it stays.
    std::vector<Sum> needs_after(int stage, int block, int tensor) const;
    double value(const Sum& sum, std::span<const double> values) const;

    const Level& level_;
    double time_scale_, byte_scale_;
    double budget_;
    std::vector<std::vector<int>> advance_;            ///< [stage][block], -1
    std::vector<std::vector<std::vector<int>>> save_;  ///< [stage][block][option], empty
    std::vector<std::vector<int>> kept_;               ///< [stage][tensor], -1
    std::vector<int> made_, last_read_;  ///< by tensor that no block passes on: stages; last_read_: number of
                                         ///< stages for results
    struct Alive {
        int column, stage, block, tensor;
    };
    std::vector<Alive> alive_;  ///< in the order of their columns
    MilpModel milp_;
};

/// The best schedule of the programme where it is better than `start`, which is given to the library as far
/// as it is of the class; else `start`. Ends within 50 ms of the deadline.
LevelSchedule solve_programme(const Level& level, LevelSchedule start, std::int64_t budget,
                              const ProgrammeLimits& limits, const Deadline& deadline);

}  // namespace rematlas::hierarchical
