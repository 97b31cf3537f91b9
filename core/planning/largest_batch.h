// The largest batch that a budget allows.
//
//     const auto capture = [&](std::int64_t batch) -> Result<Graph> { ... };
//     Result<LargestBatch> found = largest_batch(capture, {.budget = Bytes(16 << 30), .max_overhead = 1.25});
//     if (found && found->batch > 0) use(found->graph, *found->schedule);
//
// Small batches are captured first; where larger ones lie is foretold (BatchFamily) and searched without the
// model, and then captured and solved. The answer rests on captured graphs alone: the batch was captured, its
// schedule passed the checker, and the next larger batch was captured too and has no schedule that could be
// found, or provably none.
//
// With the solver `checkmate` this is the form of its programme that maximizes the batch (Jain et al., MLSys
// 2020): the least peak within the time allowed (least_peak_within.h) of one batch gives a schedule, whose
// peak at any batch is foretold exactly; the largest batch where that keeps the budget is the next to be
// solved, until none is larger, as in Dinkelbach's method (1967) for ratios.
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
    std::optional<double> max_overhead = {};  ///< at least 1; none: any recomputation will do
    std::string solver = "atlas";
    std::int64_t most = 1 << 20;    ///< no larger batch is tried
    Copies copies = {};             ///< as in a SolveRequest
    Limits limits = {};             ///< the time is for all solving together, not for the captures
    const Solver* asked = nullptr;  ///< in place of a new one of the name of `solver`, whose traits it has
};

struct LargestBatch {
    std::int64_t batch = 0;            ///< 0: not even a batch of one
    Graph graph;                       ///< captured, of `batch`; of a batch of one when `batch` is 0
    std::optional<Schedule> schedule;  ///< within the budget and the overhead; none when `batch` is 0
    bool proven = false;               ///< no schedule at all does it for a batch of one more
    /// Bytes that every schedule of a batch of one more needs, where they are more than the budget.
    std::optional<Bytes> next_needs;
    /// The same of the schedules of class `staged` within the overhead allowed; from `checkmate` alone.
    std::optional<Bytes> next_needs_in_class;
    /// The least overhead found or proven for a batch of one more, where it is above the most allowed.
    std::optional<double> next_overhead;
    /// The largest batch that fits without recomputation, foretold; none where that cannot be.
    std::optional<std::int64_t> without_recomputation;
    bool at_most = false;                ///< stopped at LargestBatchOptions::most
    std::vector<std::int64_t> captured;  ///< batches, in the order they were captured
};

/// What happens, for a progress line: a batch is captured, or was tried and fits or not.
enum class BatchEvent { capturing, fits, too_large };
using BatchProgress = std::function<void(std::int64_t batch, BatchEvent event)>;

/// `capture` is called at most about 2 log2(largest batch) times, rarely more than six. Errors: those of
/// `capture`, an unknown solver, `max_overhead` below 1. When stopped it returns the best so far, not proven.
Result<LargestBatch> largest_batch(const std::function<Result<Graph>(std::int64_t)>& capture,
                                   const LargestBatchOptions& options, const BatchProgress& progress = {});

}  // namespace rematlas
