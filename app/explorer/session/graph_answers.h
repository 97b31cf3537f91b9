// Holds what has been found and proven about the open graph, and which questions solvers have answered.
#pragma once

#include <QString>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/explorer/loaded/loaded_graph.h"
#include "app/explorer/models/plan_list.h"
#include "core/planning/known_answers.h"

namespace rematlas::explorer {

/// A question that a solver was asked.
struct SolverQuestion {
    Question question;
    std::string solver;
    std::chrono::milliseconds time;  ///< time limit of the solver
};

class GraphAnswers {
  public:
    explicit GraphAnswers(GraphPtr graph) : graph_(std::move(graph)), known_(graph_->graph) {}

    KnownAnswers& known() { return known_; }
    const KnownAnswers& known() const { return known_; }

    /// Returns the proven lower bound on the overhead of all schedules that could replace the plan. Cost:
    /// linear in the plan's steps; for a row of the list only the first time.
    std::optional<double> bound_of(const Schedule& plan) const;
    std::optional<double> bound_of(const PlanRow& row);
    /// Returns the plan with the largest known bound, for export.
    Schedule with_known_bound(Schedule plan) const;

    /// Called when the solver has answered, with a schedule or without one.
    void note_answered(SolverQuestion asked) { answered_.push_back(std::move(asked)); }
    /// Says whether the solver has answered the question before, with at least as much time.
    bool was_answered(const SolverQuestion& asked) const;

  private:
    GraphPtr graph_;  ///< the graph with the blocks that it was opened with
    KnownAnswers known_;
    /// The questions that the plans of the list answer, by the plans' keys
    std::map<QString, Question> question_of_;
    std::vector<SolverQuestion> answered_;
};

}  // namespace rematlas::explorer
