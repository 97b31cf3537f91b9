// The interface of all solvers. Callers should use planning/solve.h, which checks the answers.
//
//     std::unique_ptr<Solver> solver = make_rotor();
//     Answer answer = solver->solve({graph, flat}, Bytes(2LL << 30), {.time = 10s}, {});
//     if (auto* solution = std::get_if<Solution>(&answer)) ...
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/schedule.h"
#include "core/solving/copies.h"
#include "core/solving/limits.h"

namespace rematlas {

struct Problem {
    const Graph& graph;     ///< names, phases, module paths, blocks
    const FlatGraph& flat;  ///< flatten(graph)
    Copies copies = {};     ///< the copies that are allowed; a solver may make fewer
};

/// A report about the best schedule so far, made while the solver works.
struct ProgressReport {
    double overhead = 0;
    Bytes peak;
    std::optional<double> bound;  ///< proven lower bound on the overhead
    double fraction_done = 0;     ///< share of the time or of the work, 0 .. 1
};
using Progress =
    std::function<void(const ProgressReport&)>;  ///< called from the solver's thread; may be empty

enum class Status { optimal, feasible };

struct Solution {
    std::vector<Step> steps;
    Homes homes = {};  ///< residents that live on the host, and results that end on the host
    Nanoseconds time = {};
    Bytes peak = {};
    double overhead = 1.0;
    Status status = Status::feasible;
    std::optional<Bound> bound = {};
};

/// The answer if no schedule was found. `needed` is always a proven lower bound on the peak of every schedule
/// of the class `over`. `proven` says whether this bound exceeds the budget, so that no schedule of the class
/// fits. If `proven` is false, another solver may still find a schedule.
struct Infeasible {
    Bytes needed = {};
    bool proven = false;
    ScheduleClass over = ScheduleClass::any_order;  ///< the class of schedules for which `needed` is proven
    std::optional<Bytes> smallest_found = {};       ///< the least peak that this solver reached
    OpId op = {};                                   ///< the op at which the memory is needed
    std::vector<TensorId> dominant = {};            ///< the tensors held at `op`, largest first
    std::optional<Bytes> under_pins = {};           ///< if there were pins: a budget that suffices with them
    std::optional<Bytes> without_pins = {};  ///< if there were pins: a budget that suffices without them
    std::string reason = {};  ///< why this solver found nothing, if memory is not the only reason; else empty
};

using Answer = std::variant<Solution, Infeasible>;

class Solver {
  public:
    virtual ~Solver() = default;
    virtual std::string_view name() const = 0;
    virtual Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                         const Progress& progress) const = 0;

    /// Says whether the solver was made for one problem. It then always answers for that problem, whatever
    /// graph `solve` gets.
    virtual bool is_of_one_problem() const { return false; }

    /// Returns a new solver for this problem only, for budgets up to `largest`. `problem` must outlive the
    /// new solver. `up_to` does the work that is common to all budgets, within the limits. The new solver
    /// gives the same answers as this solver, and may be used by one thread at a time. Returns null if the
    /// budgets have no work in common.
    virtual std::unique_ptr<Solver> up_to(const Problem& /*problem*/, Bytes /*largest*/,
                                          const Limits& /*limits*/) const {
        return nullptr;
    }
};

}  // namespace rematlas
