// The largest batch that a budget allows.
//
//     const auto capture = [&](std::int64_t batch) -> Result<Graph> { ... };
//     Result<LargestBatch> found = largest_batch(capture, {.budget = Bytes(16 << 30), .max_overhead = 1.25});
//     if (found && found->batch > 0) use(found->graph, *found->schedule);
//
// Small batches are captured first. The graphs of larger batches are foretold (BatchFamily), so that the
// search needs no model. The batch that the search proposes is then captured and solved. The answer rests on
// captured graphs alone: the batch was captured, and its schedule passed the checker. The next larger batch
// was captured too, and no schedule was found for it, or provably none exists.
//
// With the solver `checkmate` the search solves the form of its programme that maximizes the batch (Jain et
// al., MLSys 2020). It finds the schedule with the least peak within the allowed time (least_peak_within.h)
// at one batch. The peak of this schedule at any other batch is foretold exactly. The largest batch at which
// the schedule keeps the budget is solved next, until no batch is larger, as in Dinkelbach's method (1967)
// for ratios.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/solving/solver.h"

namespace rematlas {

struct LargestBatchOptions {
    Bytes budget;
    std::optional<double> max_overhead = {};  ///< at least 1; absent: no limit
    std::string solver = "atlas";
    std::int64_t most = 1 << 20;    ///< no larger batch is tried
    Copies copies = {};             ///< as in a SolveRequest
    Limits limits = {};             ///< the time is for all solving together, not for the captures
    const Solver* asked = nullptr;  ///< the solver of the name `solver` to use; null: a new one is made
};

struct LargestBatch {
    std::int64_t batch = 0;            ///< 0: not even a batch of one
    Graph graph;                       ///< captured, of `batch`; of a batch of one when `batch` is 0
    std::optional<Schedule> schedule;  ///< within the budget and the overhead; none when `batch` is 0
    bool proven = false;               ///< it is proven that no schedule exists for `batch` + 1
    /// Bytes that every schedule for `batch` + 1 needs, if they are more than the budget.
    std::optional<Bytes> next_needs;
    /// The same for schedules of the class `staged` within the allowed overhead; only from `checkmate`.
    std::optional<Bytes> next_needs_in_class;
    /// The least overhead found or proven for `batch` + 1, if it is above the allowed overhead.
    std::optional<double> next_overhead;
    /// The largest batch, at most `batch`, that fits without recomputation; absent if it cannot be foretold.
    std::optional<std::int64_t> without_recomputation;
    bool at_most = false;                ///< stopped at LargestBatchOptions::most
    std::vector<std::int64_t> captured;  ///< batches, in the order they were captured
};

/// An event for a progress line: a batch is being captured, or it was tried and fits or does not.
enum class BatchEvent { capturing, fits, too_large };
using BatchProgress = std::function<void(std::int64_t batch, BatchEvent event)>;

/// `capture` is called at most about 2 log2(largest batch) times, rarely more than six. When stopped, the
/// function returns the best batch so far, not proven. Errors: those of `capture` and of the solver, an
/// unknown solver, `max_overhead` or `most` below 1, copies that the solver does not plan.
Result<LargestBatch> largest_batch(const std::function<Result<Graph>(std::int64_t)>& capture,
                                   const LargestBatchOptions& options, const BatchProgress& progress = {});

}  // namespace rematlas
