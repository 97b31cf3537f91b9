// What a report and the tables tell of a schedule, in numbers.
//
//     const Result<StepFigures> figures = step_figures(graph, schedule);
//     if (!figures) return figures.error();      // the checker refused the schedule
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/checking/check.h"
#include "core/graph/graph.h"
#include "core/schedule/held.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// A block with what lies in it and what its twin in the backward pass adds.
struct BlockFigures {
    std::string path;        ///< never empty
    std::string name;        ///< the last part of it
    int depth = 0;           ///< 0: a root
    std::size_t ops = 0;     ///< with those of the twin
    Nanoseconds time;        ///< of these, each once
    Bytes made;              ///< by these, each once
    Bytes at_peak;           ///< held at the peak of what these made
    std::size_t reruns = 0;  ///< runs of ops that had run before
    Nanoseconds extra;       ///< time of these runs
};

/// The ops of one module that are computed again.
struct RecomputedModule {
    std::string path;  ///< never empty
    std::size_t ops = 0;
    std::size_t reruns = 0;
    Nanoseconds extra;
};

struct StepFigures {
    CheckReport check;    ///< of the independent checker, without a violation
    Bytes keep_all_peak;  ///< peak of the step without recomputation
    Nanoseconds keep_all_time;
    Bytes least;  ///< proven: no schedule without copies to the host needs less
    Bytes resident;
    Bytes copied_to_host;  ///< the sum of all copies
    Held at_peak;
    OpId peak_op;                              ///< that runs at the peak; invalid where none does
    std::vector<BlockFigures> blocks;          ///< parents before their children, in order of execution
    std::vector<RecomputedModule> recomputed;  ///< most extra time first
    IdVector<TensorId, OpId> makers;           ///< invalid for residents
};

/// Errors (negative): the checker refuses the schedule; the line names its first violation. Cost: that of the
/// checker, about 2 ms per thousand steps, and up to a second for `least`.
Result<StepFigures> step_figures(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
