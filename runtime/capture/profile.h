// Times and workspaces of the ops of a captured step, measured on the device by replaying it without
// recomputation.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/replay/executor.h"

namespace rematlas {

struct ProfileOptions {
    int most_replays = 9;
    int fewest_replays = 3;                                        ///< number of replays even when time is up
    std::chrono::duration<double> time = std::chrono::seconds(6);  ///< time after which no further replay
                                                                   ///< starts
    bool pool = true;  ///< ops of equal signature share their samples, so that fewer replays give as many
    std::function<void(double)> progress = {};  ///< fraction done
};

/// The executor has run at least once. Fills `time` (the median) and `workspace` (the largest) of each op;
/// with `pool`, over all ops that do the same work. Replays end early once the ops that take nine tenths of
/// the time have `most_replays` samples. Cost: the time of the replays.
Result<void> profile(Graph& graph, Executor& executor, const std::vector<at::Tensor>& inputs,
                     const ProfileOptions& options);

}  // namespace rematlas
