// The list of curves that a sweep has to compute.
#pragma once

#include <memory>
#include <vector>

#include "core/planning/sweep.h"

namespace rematlas {

/// The task of computing one curve: a solver, and the problem with the copies that its schedules may make.
struct SweepTask {
    Problem problem;
    std::unique_ptr<Solver> solver;
};

/// Returns one task for each solver and each `Copies` setting in the options that the solver can plan, in the
/// order of the solvers. Errors: an unknown solver, a setting that no solver can plan, a solver that can plan
/// none of the settings, copies without links, pins that match nothing or contradict each other.
Result<std::vector<SweepTask>> sweep_tasks(const Graph& graph, const FlatGraph& flat,
                                           const SweepOptions& options);

}  // namespace rematlas
