// What is found and proven of the graph that is open, and which questions solvers have answered.
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

/// What a solver was asked.
struct SolverQuestion {
    Question question;
    std::string solver;
    std::chrono::milliseconds time;  ///< that it had at most
};

class GraphAnswers {
  public:
    explicit GraphAnswers(GraphPtr graph) : graph_(std::move(graph)), known_(graph_->graph) {}

    KnownAnswers& known() { return known_; }
    const KnownAnswers& known() const { return known_; }

    /// Returns what is proven of schedules that may stand in the plan's place. Cost: linear in the plan's
    /// steps; for a row of the list at the first time alone.
    std::optional<double> bound_of(const Schedule& plan) const;
    std::optional<double> bound_of(const PlanRow& row);
    /// The plan with the largest bound that is known, as it is exported.
    Schedule with_known_bound(Schedule plan) const;

    /// The solver has answered, with a schedule or without one.
    void note_answered(SolverQuestion asked) { answered_.push_back(std::move(asked)); }
    /// Whether the solver has answered the question before, with no less time.
    bool was_answered(const SolverQuestion& asked) const;

  private:
    GraphPtr graph_;  ///< in the blocks that it was opened in
    KnownAnswers known_;
    std::map<QString, Question> question_of_;  ///< that the plans of the list were asked, by their keys
    std::vector<SolverQuestion> answered_;
};

}  // namespace rematlas::explorer
