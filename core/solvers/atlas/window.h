// A part of a run sequence planned anew: some ops may rerun anywhere, all other runs stay where they are.
//
//     const Window window(graph, budget, best.runs, ops);
//     solve_milp(MilpLibrary::highs, window.programme(), ...);
//     RunSequence runs = window.decode(answer.values);
//
// What can change is what the free ops make and read, so the stages of the programme (see staged_model.h) are
// the runs that make or read these tensors; of the runs between two stages the one that holds most counts. A
// window of two dozen ops has one or two hundred stages, however long the sequence is and however far apart
// in it the ops are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/checkmate/staged_model.h"

namespace rematlas::atlas {

class Window {
  public:
    /// `ops` are free: they run in `runs`, and each of their inputs is made by one of them or by a run that
    /// is the only one of its op. The programme has only what takes less time than `runs`. Cost: linear in
    /// the graph and in the runs, beside that of the programme. The graph and the runs need not outlive the
    /// window.
    Window(const FlatGraph& graph, std::int64_t budget, const RunSequence& runs, std::span<const int> ops);

    const MilpModel& programme() const { return model_->milp(); }
    std::size_t stages() const { return anchors_.size(); }

    /// The whole sequence that a solution stands for.
    RunSequence decode(std::span<const double> values) const;

    /// The point of `runs`; nothing when they rerun an op twice between two stages.
    std::optional<std::vector<double>> start() const { return model_->encode(reduced_runs_); }

  private:
    void find_stages(const FlatGraph& graph, const RunSequence& runs, std::span<const int> ops);
    void reduce(const FlatGraph& graph);
    std::vector<StageBytes> held_beside(const FlatGraph& graph, std::int64_t budget) const;

    std::vector<std::uint8_t> free_;      ///< per op
    std::vector<int> local_;              ///< per tensor of the graph: its number in the window, or -1
    std::vector<std::int32_t> tensors_;   ///< the inverse
    RunSequence fixed_;                   ///< the runs without reruns of free ops
    std::vector<std::size_t> anchors_;    ///< per stage: the index in fixed_ of the run that ends it
    FlatGraph reduced_;                   ///< an op for each stage
    RunSequence reduced_runs_;            ///< what `runs` are there
    std::int64_t time_ = 0;               ///< of the free ops in `runs`, nanoseconds
    std::unique_ptr<StagedModel> model_;  ///< of `reduced_`
};

}  // namespace rematlas::atlas
