#include "core/planning/sweep_tasks.h"

#include <algorithm>

#include "core/planning/pinned_solver.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"

namespace rematlas {
namespace {

bool plans(const std::string& solver, const Copies& copies) {
    const SolverEntry* entry = find_solver(solver);
    return entry && is_within(copies.what, entry->traits.copies);
}

/// Returns the elements of `asked` that the solver can plan. Fails if the solver can plan none of them, or if
/// no links are known.
Result<std::vector<Copies>> planned_by(const std::string& solver, const Graph& graph,
                                       const std::vector<Copies>& asked) {
    std::vector<Copies> planned;
    for (const Copies& one : asked) {
        if (!plans(solver, one)) continue;
        Result<Copies> copies = copies_for(graph, solver, one);
        if (!copies) return copies.error();
        planned.push_back(copies.take());
    }
    if (planned.empty() && !asked.empty()) return copies_for(graph, solver, asked.front()).error();
    return planned;
}

/// Checks that for each `Copies` setting in the options at least one of the solvers can plan such copies.
Result<void> can_be_planned(const Graph& graph, const SweepOptions& options) {
    for (const Copies& copies : options.copies) {
        const bool any = std::any_of(options.solvers.begin(), options.solvers.end(),
                                     [&](const std::string& solver) { return plans(solver, copies); });
        if (!any && !options.solvers.empty())
            return copies_for(graph, options.solvers.front(), copies).error();
    }
    return {};
}

}  // namespace

Result<std::vector<SweepTask>> sweep_tasks(const Graph& graph, const FlatGraph& flat,
                                           const SweepOptions& options) {
    std::vector<SweepTask> tasks;
    for (const std::string& name : options.solvers)
        if (const auto known = make_solver(name); !known) return known.error();
    if (const Result<void> can = can_be_planned(graph, options); !can) return can.error();
    for (const std::string& name : options.solvers) {
        const Result<std::vector<Copies>> planned = planned_by(name, graph, options.copies);
        if (!planned) return planned.error();
        for (const Copies& copies : *planned) {
            Result<std::unique_ptr<Solver>> solver =
                under_pins(graph, options.pins, make_solver(name).take());
            if (!solver) return solver.error();
            tasks.push_back({Problem{graph, flat, copies}, solver.take()});
        }
    }
    return tasks;
}

}  // namespace rematlas
