// Measures times and workspaces of the ops of a captured step on the device, by replaying the step without
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
    int fewest_replays = 3;                                        ///< replays that run even if time is up
    std::chrono::duration<double> time = std::chrono::seconds(6);  ///< no replay starts after this time
    bool pool = true;  ///< whether ops that do the same work share samples, so that fewer replays suffice
    std::function<void(double)> progress = {};  ///< called with the fraction that is done
};

/// Fills `time` (the median of samples) and `workspace` (the largest sample) of each op. With `pool`, all ops
/// that do the same work share their samples. The executor must have run at least once. Replays end early
/// once each of the ops that take nine tenths of the time has `most_replays` samples. Cost: the time of the
/// replays.
Result<void> profile(Graph& graph, Executor& executor, const std::vector<at::Tensor>& inputs,
                     const ProfileOptions& options);

}  // namespace rematlas
