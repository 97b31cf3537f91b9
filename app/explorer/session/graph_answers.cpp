#include "app/explorer/session/graph_answers.h"

#include <algorithm>

namespace rematlas::explorer {

std::optional<double> GraphAnswers::bound_of(const Schedule& plan) const {
    return known_.bound(question_of(graph_->graph, plan));
}

std::optional<double> GraphAnswers::bound_of(const PlanRow& row) {
    auto found = question_of_.find(row.key);
    if (found == question_of_.end())
        found = question_of_.emplace(row.key, question_of(graph_->graph, *row.schedule)).first;
    return known_.bound(found->second);
}

Schedule GraphAnswers::with_known_bound(Schedule plan) const {
    return rematlas::with_known_bound(graph_->graph, known_, std::move(plan));
}

bool GraphAnswers::was_answered(const SolverQuestion& asked) const {
    return std::any_of(answered_.begin(), answered_.end(), [&](const SolverQuestion& before) {
        return before.question == asked.question && before.solver == asked.solver &&
               before.time >= asked.time;
    });
}

}  // namespace rematlas::explorer
