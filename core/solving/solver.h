// The interface of all solvers. Callers ask planning/solve.h, which checks the answers.
//
//     std::unique_ptr<Solver> solver = make_rotor();
//     Answer answer = solver->solve({graph, flat}, Bytes(2 << 30), {.time = 10s}, {});
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
    Copies copies = {};     ///< what may be copied to the host; solvers without that trait copy nothing
};

/// A report of the best schedule so far, while the solver works.
struct ProgressReport {
    double overhead = 0;
    Bytes peak;
    std::optional<double> bound;  ///< proven lower bound on the overhead
    double fraction_done = 0;     ///< of the time or the work, 0 .. 1
};
using Progress =
    std::function<void(const ProgressReport&)>;  ///< called from the solver's thread; may be empty

enum class Status { optimal, feasible };

struct Solution {
    std::vector<Step> steps;
    Homes homes = {};  ///< of tensors that live, or end, on the host
    Nanoseconds time = {};
    Bytes peak = {};
    double overhead = 1.0;
    Status status = Status::feasible;
    std::optional<Bound> bound = {};
};

/// No schedule was found. `needed` is always a proven lower bound on the peak of every schedule of the class
/// `over`. `proven` says whether this bound exceeds the budget, so that no solver can succeed; if not, only
/// this solver found nothing.
struct Infeasible {
    Bytes needed = {};
    bool proven = false;
    ScheduleClass over = ScheduleClass::any_order;  ///< the class whose schedules all need so much
    std::optional<Bytes> smallest_found = {};       ///< least peak this solver reached
    OpId op = {};                                   ///< where the memory is needed
    std::vector<TensorId> dominant = {};            ///< the tensors held there, heaviest first
    std::optional<Bytes> under_pins = {};           ///< where there were pins: a budget that works under them
    std::optional<Bytes> without_pins = {};         ///< where there were pins: one that works without them
    std::string reason = {};  ///< why this solver found nothing, where it is not the memory alone; or empty
};

using Answer = std::variant<Solution, Infeasible>;

class Solver {
  public:
    virtual ~Solver() = default;
    virtual std::string_view name() const = 0;
    virtual std::string_view summary() const = 0;  ///< one line: what it is and what it assumes
    virtual Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                         const Progress& progress) const = 0;

    /// Whether the solver answers for one problem alone, whatever graph it is asked about.
    virtual bool is_of_one_problem() const { return false; }

    /// A solver of this problem alone (which must outlive it) for many budgets up to `largest`. It has done
    /// the work that the budgets share, within the limits, and gives the same answers. It serves one thread
    /// at a time. Null: the budgets share no work.
    virtual std::unique_ptr<Solver> up_to(const Problem& /*problem*/, Bytes /*largest*/,
                                          const Limits& /*limits*/) const {
        return nullptr;
    }
};

}  // namespace rematlas
