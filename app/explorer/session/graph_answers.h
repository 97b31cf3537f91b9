// Collects what is known about the open graph: schedules, bounds, and the questions that solvers have
// answered. A question is a budget with the allowed copies and the pins (core/planning/known_answers.h).
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

    /// Returns the proven lower bound on the overhead of all schedules that keep to the budget, the copies
    /// and the pins for which the plan was made. Cost: linear in the plan's steps. For a row of the list this
    /// cost arises only once.
    std::optional<double> bound_of(const Schedule& plan) const;
    std::optional<double> bound_of(const PlanRow& row);
    /// Returns a copy of the plan that contains the largest known bound, for export.
    Schedule with_known_bound(Schedule plan) const;

    /// Must be called when the solver has answered a question, with or without a schedule.
    void note_answered(SolverQuestion asked) { answered_.push_back(std::move(asked)); }
    /// Says whether the solver has answered the question before, with at least as much time.
    bool was_answered(const SolverQuestion& asked) const;

  private:
    GraphPtr graph_;  ///< the graph with the blocks that it was opened with
    KnownAnswers known_;
    /// For the key of each plan in the list: the question that the plan answers
    std::map<QString, Question> question_of_;
    std::vector<SolverQuestion> answered_;
};

}  // namespace rematlas::explorer
