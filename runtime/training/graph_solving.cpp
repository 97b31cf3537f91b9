// Solves graphs that Python makes, as `rematlas solve` does, and makes plans for selective checkpointing.
#include <nlohmann/json.hpp>

#include "core/graph/graph_file.h"
#include "core/planning/checkpoint_policy.h"
#include "core/planning/request.h"
#include "core/schedule/schedule_file.h"
#include "runtime/device/measured_time.h"
#include "runtime/training/bindings.h"

namespace rematlas {
namespace {

using nlohmann::json;

json infeasible_json(const Infeasible& answer) {
    return {
        {"status", "infeasible"},
        {"needed_bytes", answer.needed.value},
        {"proven", answer.proven},
        {"smallest_found_bytes", answer.smallest_found ? json(answer.smallest_found->value) : json(nullptr)},
        {"reason", answer.reason}};
}

/// Returns the text of a schedule file. If no schedule keeps the budget, returns the text of a JSON object
/// with "status": "infeasible".
std::string solve_text(const std::string& graph_text, const std::string& budget, const std::string& solver,
                       double seconds, double gap) {
    const Graph graph = or_throw(parse_graph(graph_text, "the graph of kernels"));
    SolveRequest request{.solver = solver, .budget = or_throw(parse_budget(budget))};
    request.limits.time =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
    set_gap(request, gap);
    const Outcome outcome = or_throw(solve(graph, request));
    if (const Infeasible* answer = outcome.infeasible()) return infeasible_json(*answer).dump();
    return schedule_text(*outcome.schedule());
}

/// Returns the text of a policy file. If no policy keeps the budget, returns the text of a JSON object with
/// "status": "infeasible".
std::string policy_of(const std::string& path, const std::string& budget) {
    const Plan plan = or_throw(read_plan_or_schedule(path));
    const Bytes bytes =
        budget.empty() ? budget_of(plan.schedule)
                       : or_throw(bytes_of(or_throw(parse_budget(budget)), step_bytes(flatten(plan.graph))));
    const Result<CheckpointPolicy> policy = checkpoint_policy(plan.graph, bytes, {});
    if (!policy && policy.error().kind == ErrorKind::negative)
        return json{{"status", "infeasible"}, {"reason", policy.error().message}}.dump();
    return policy_text(plan.graph, or_throw(policy));
}

std::int64_t counted_nanoseconds(const std::string& kind, std::int64_t measured) {
    return counted_time(kind, Nanoseconds(measured)).value;
}

}  // namespace

void define_solving(torch::Library& library) {
    // `graph` is the text of a graph file. The solver runs for at most `seconds`, and stops earlier once it
    // reaches `gap`.
    library.def("solve_graph(str graph, str budget, str solver, float seconds, float gap) -> str",
                &solve_text);
    // Returns the time of a kernel as it is written into the graph: the measured time, unless the tests scale
    // measured times.
    library.def("counted_nanoseconds(str kind, int measured) -> int", &counted_nanoseconds);
    // `path` names a plan file, or a schedule file with its graph file beside it. If `budget` is empty, the
    // budget of the plan is used.
    library.def("checkpoint_policy(str path, str budget) -> str", &policy_of);
}

}  // namespace rematlas
