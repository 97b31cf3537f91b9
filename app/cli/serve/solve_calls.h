// Turns the questions that a page asks (as JSON) into jobs for solvers. The answers of the jobs go to the
// board.
//
//     SolveCalls calls(graph, board, processors);
//     calls.solve({{"budget", "60%"}});                                      // {"job": 1}
//     calls.sweep({{"count", 8}, {"solvers", {"atlas", "dtr"}}});            // {"job": 2}
//     calls.cancel({{"job", 2}});
//
// A job that is cancelled or out of time gives its best schedule so far, as `rematlas solve` does. The board
// checks every schedule.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/cli/serve/job_queue.h"
#include "app/cli/serve/plan_board.h"
#include "core/base/result.h"
#include "core/graph/flat_graph.h"
#include "core/planning/request.h"

namespace rematlas {

class SolveCalls {
  public:
    static constexpr std::chrono::seconds longest_job = std::chrono::hours(1);
    static constexpr std::size_t most_waiting = 16, most_budgets = 64;

    /// `graph` and `board` must outlive this object. At most `processors` jobs run at once. The destructor
    /// ends the jobs.
    SolveCalls(const Graph& graph, PlanBoard& board, std::size_t processors);

    /// Starts a job that solves for one budget, and returns its number as "job". Fields: "budget" (bytes, or
    /// a text as for --budget); optional "graph", "solver", "offload", and "time_limit" (seconds, or a text;
    /// at most `longest_job`). Fails if a field is wrong or unknown, or, with ErrorKind::negative, if too
    /// many jobs wait.
    Result<nlohmann::json> solve(const nlohmann::json& asked);
    /// Starts a job that makes a sweep, and returns its number as "job". Fields, all optional: "budgets" (a
    /// list) or "count" (default: 8), "solvers" (default: only atlas), and "graph", "offload" and
    /// "time_limit" (for the whole sweep) as for `solve`.
    Result<nlohmann::json> sweep(const nlohmann::json& asked);
    /// Cancels the job with the number "job". Fails with ErrorKind::negative if this job neither waits nor
    /// runs.
    Result<nlohmann::json> cancel(const nlohmann::json& asked);

    /// Returns the values that the fields of a question can have: "graphs" ("name", "peak"), "solvers"
    /// ("name", "offload": the most that the solver can copy), "longest_seconds", "processors".
    nlohmann::json about() const;

  private:
    Result<nlohmann::json> start(const std::string& words, std::chrono::nanoseconds limit,
                                 std::function<JobEnd(int, std::stop_token)> work);
    JobEnd solve_now(SolveRequest request, const std::string& words, int job, std::stop_token stop);
    JobEnd sweep_now(SweepOptions options, int job, std::stop_token stop);
    /// Adds the schedule of a point to the board if the point has one.
    Result<void> add_point(const SweepCurve& curve, const SweepPoint& point);

    const Graph& graph_;
    const FlatGraph flat_;
    const StepBytes step_;
    PlanBoard& board_;
    const std::size_t processors_;
    JobQueue queue_;
};

}  // namespace rematlas
