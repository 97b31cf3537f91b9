// Solves a graph whose collectives run at the same time as compute (Op::collective), with any solver.
//
// Solvers know one queue of ops. They get the graph in forms in which collectives are ordinary ops: with
// their times, and with no time, as if all of them were hidden behind compute. Some forms have smaller
// budgets, because a collective that runs at the same time as compute holds its tensors longer. The steps of
// the answers are then moved so that collectives run during compute (core/solving/beside_compute.h), and the
// fastest schedule is returned. Bytes follow from the order of the steps alone, so each form has the same
// peaks as the graph.
#pragma once

#include "core/planning/solve.h"
#include "core/solving/solver.h"

namespace rematlas {

/// Says whether the graph has collectives that run at the same time as compute.
bool has_queues(const Graph& graph);

/// Returns the answer for the graph; the time of the schedule is simulated with queues. The solution has a
/// bound only if `solver` proved one for this form: collectives take no time, and the budget is not reduced.
/// Each form gets an equal share of the time limit. If the time limit is short for the size of the graph,
/// fewer forms are tried.
Answer solve_with_queues(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                         const Progress& progress);

/// Returns the solution with its steps moved so that collectives run during compute, and with the time and
/// the peak of these steps.
Solution with_collectives_beside(const Problem& problem, Solution solution, Bytes budget,
                                 const Limits& limits);

/// Returns the step without recomputation. If the graph has queues, its collectives run during compute.
Solution all_kept(const Graph& graph, const FlatGraph& flat);

/// Returns graphs in which collectives are ordinary ops: one in which only compute has times, and one for
/// each queue in which only the collectives of that queue have times. The time of a schedule is at least its
/// time in each of these graphs, so a bound for one of them is a bound for the graph.
std::vector<Graph> one_queue_each(const Graph& graph);

}  // namespace rematlas
