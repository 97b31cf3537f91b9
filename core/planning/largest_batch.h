// The largest batch that a budget allows.
//
//     const auto capture = [&](std::int64_t batch) -> Result<Graph> { ... };
//     Result<LargestBatch> found =
//         largest_batch(capture, {.budget = Bytes(16LL << 30), .max_overhead = 1.25});
//     if (found && found->batch > 0) use(found->graph, *found->schedule);
//
// Small batches are captured first. The graphs of larger batches are predicted (BatchFamily), so that the
// search does not need the model for them. The batch that the search proposes is then captured and solved.
// The answer depends on captured graphs only: the batch was captured, and its schedule passed the checker.
// The next larger batch was captured, too, and no schedule was found for it, or provably none exists.
//
// With the solver `checkmate` the search uses the form of Checkmate's integer program that maximizes the
// batch (Jain et al., MLSys 2020). First the search finds, at one batch, the schedule with the least peak
// within the limit on the step's time (least_peak_within.h). The peak of this schedule at any other batch can
// be predicted exactly. The largest batch at which the schedule keeps the budget is solved next. This is
// repeated until the batch no longer grows, as in Dinkelbach's method (1967) for ratios.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/solving/solver.h"

namespace rematlas {

struct LargestBatchOptions {
    Bytes budget;
    std::optional<double> max_overhead = {};  ///< at least 1; absent: no limit
    std::string solver = "atlas";
    std::int64_t most = 1 << 20;    ///< the largest batch that is tried
    Copies copies = {};             ///< the copies that are allowed, as in a SolveRequest
    Limits limits = {};             ///< the time is for all solving together, without the captures
    const Solver* asked = nullptr;  ///< a solver with the name `solver`; null: a new one is made
};

struct LargestBatch {
    std::int64_t batch = 0;            ///< 0 if not even a batch of 1 fits
    Graph graph;                       ///< captured at `batch`; at a batch of 1 if `batch` is 0
    std::optional<Schedule> schedule;  ///< within the budget and the overhead limit; absent if `batch` is 0
    bool proven = false;               ///< whether it is proven that no schedule for `batch` + 1 is within
                                       ///< both limits
    /// Bytes that every schedule for `batch` + 1 needs, if they are more than the budget.
    std::optional<Bytes> next_needs;
    /// The bytes that every schedule of the class `staged` within the overhead limit needs for `batch` + 1,
    /// if they are more than the budget. Only the solver `checkmate` sets this field.
    std::optional<Bytes> next_needs_in_class;
    /// The least overhead found or proven for `batch` + 1, if it is above the overhead limit.
    std::optional<double> next_overhead;
    /// The largest batch, at most `batch`, that fits without recomputation; absent if its graph cannot be
    /// predicted.
    std::optional<std::int64_t> without_recomputation;
    bool at_most = false;                ///< whether the search stopped at LargestBatchOptions::most
    std::vector<std::int64_t> captured;  ///< the captured batches, in the order of their capture
};

/// An event for a progress line: a batch is being captured; a captured batch fits; a captured batch is too
/// large.
enum class BatchEvent { capturing, fits, too_large };
using BatchProgress = std::function<void(std::int64_t batch, BatchEvent event)>;

/// Finds the largest batch. `capture` is called at most about 2 log2(largest batch) times, rarely more than
/// six times. If the search is stopped, the function returns the best batch so far, not proven. Fails if
/// `capture` or the solver fails, if the solver is unknown, if `max_overhead` or `most` is below 1, or if the
/// solver cannot plan the copies.
Result<LargestBatch> largest_batch(const std::function<Result<Graph>(std::int64_t)>& capture,
                                   const LargestBatchOptions& options, const BatchProgress& progress = {});

}  // namespace rematlas
