// The best schedule so far, as whole runs with their exact cost: what a programme in doubles says is played
// before it counts.
#pragma once

#include <optional>

#include "core/schedule/run_sequence.h"
#include "core/solvers/solver.h"

namespace rematlas {

class BestFound {
  public:
    BestFound(const FlatGraph& graph, Bytes budget) : graph_(graph), budget_(budget.value) {}

    /// True when the runs fit the budget and take less time than all before.
    bool offer(RunSequence runs);
    /// The runs of a schedule.
    bool offer(const Solution& solution);

    bool any() const { return !runs_.empty(); }
    const RunSequence& runs() const { return runs_; }
    std::int64_t time() const { return time_; }
    Bytes peak() const { return Bytes(peak_); }
    double overhead() const { return double(time_) / double(std::max<std::int64_t>(graph_.base_time, 1)); }

  private:
    const FlatGraph& graph_;
    std::int64_t budget_;
    RunSequence runs_;
    std::int64_t time_ = 0, peak_ = 0;
};

}  // namespace rematlas
