// The numbers that a report and the tables give for a schedule.
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

/// A block, with the ops inside it and inside its twin in the backward pass.
struct BlockFigures {
    std::string path;        ///< never empty
    std::string name;        ///< the last part of `path`
    int depth = 0;           ///< 0 for a root
    std::size_t ops = 0;     ///< including the ops of the twin
    Nanoseconds time;        ///< time of running each of these ops once
    Bytes made;              ///< bytes that these ops make if each runs once
    Bytes at_peak;           ///< bytes made by these ops that are held at the peak
    std::size_t reruns = 0;  ///< runs of these ops after their first run
    Nanoseconds extra;       ///< time of these reruns
};

/// A module whose ops are computed again.
struct RecomputedModule {
    std::string path;  ///< never empty
    std::size_t ops = 0;
    std::size_t reruns = 0;
    Nanoseconds extra;
};

struct StepFigures {
    CheckReport check;    ///< result of the independent checker, without a violation
    Bytes keep_all_peak;  ///< peak of the step without recomputation
    Nanoseconds keep_all_time;
    Bytes least;  ///< proven: every schedule without copies to the host needs at least these bytes
    Bytes resident;
    Bytes copied_to_host;  ///< sum over all copies
    Held at_peak;
    OpId peak_op;                              ///< the op that runs at the peak; invalid if none does
    std::vector<BlockFigures> blocks;          ///< parents before children, siblings in the order of
                                               ///< execution
    std::vector<RecomputedModule> recomputed;  ///< sorted by extra time, the largest first
    IdVector<TensorId, OpId> makers;           ///< invalid for residents
};

/// Fails with ErrorKind::negative if the checker refuses the schedule; the message is the first violation.
/// Cost: about 2 ms for a thousand steps (the checker), and up to a second for `least`.
Result<StepFigures> step_figures(const Graph& graph, const Schedule& schedule);

}  // namespace rematlas
