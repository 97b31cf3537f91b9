// One interface for all solvers.
//
//     const Solver* solver = find_solver("atlas");
//     Answer answer = solver->solve(problem, Bytes(2 << 30), {.time = 10s}, {});
//     if (auto* solution = std::get_if<Solution>(&answer)) ...
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

struct Problem {
    const Graph& graph;     ///< names, phases, module paths, blocks
    const FlatGraph& flat;  ///< flatten(graph)
};

struct Limits {
    std::chrono::nanoseconds time = std::chrono::seconds(60);  ///< wall clock for the whole call
    std::stop_token stop{};  ///< checked at least every 50 ms: the solver then returns its best so far
    std::uint64_t seed = 1;  ///< equal seeds, threads and step counts give equal answers
    int threads = 1;
    /// After the solver has ended with a gap: more wall clock for a better bound. `solve` (solve.h) sees to
    /// it.
    std::chrono::nanoseconds bound_time{0};
};

/// A schedule found on the way.
struct Incumbent {
    double overhead = 0;
    Bytes peak;
    std::optional<double> bound;  ///< proven lower bound on the overhead
    double fraction_done = 0;     ///< of the time or the work, 0 .. 1
};
using Progress = std::function<void(const Incumbent&)>;  ///< called from the solver's thread; may be empty

enum class Status { optimal, feasible };

struct Solution {
    std::vector<Step> steps;
    Nanoseconds time;
    Bytes peak;
    double overhead = 1.0;
    Status status = Status::feasible;
    std::optional<Bound> bound;
};

/// No schedule was found. `needed` is always a proven lower bound on the peak of every schedule; `proven`
/// says whether it exceeds the budget, i.e. no solver can do it, or whether only this solver found nothing.
struct Infeasible {
    Bytes needed;
    bool proven = false;
    std::optional<Bytes> smallest_found;  ///< least peak this solver reached
    OpId op;                              ///< where the memory is needed
    std::vector<TensorId> dominant;       ///< the tensors held there, heaviest first
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

    /// For many budgets up to `largest`: a solver of this problem alone (which must outlive it) with the work
    /// that its budgets share done, within the limits. Same answers. For one thread at a time. Null: they
    /// share none.
    virtual std::unique_ptr<Solver> up_to(const Problem& /*problem*/, Bytes /*largest*/,
                                          const Limits& /*limits*/) const {
        return nullptr;
    }
};

/// Builds a solver by name with options (null: defaults). Errors: unknown name, unknown key, wrong type, out
/// of range.
Result<std::unique_ptr<Solver>> make_solver(std::string_view name, const nlohmann::json* options = nullptr);

/// Every option of a solver at its default, as `make_solver` takes them. An empty object for a solver without
/// options.
nlohmann::json default_options(std::string_view name);

/// Names of all solvers that `make_solver` builds, in the order they are shown.
std::span<const std::string_view> solver_names();

/// The steps, time and peak of a run sequence as a solution.
Solution solution_from(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// The answer when nothing fits the budget.
Infeasible infeasible_from(const FlatGraph& graph, Bytes budget, std::optional<Bytes> smallest_found);

}  // namespace rematlas
