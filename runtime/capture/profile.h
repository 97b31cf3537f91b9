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
    int fewest_replays = 3;                                        ///< taken even when time is up
    std::chrono::duration<double> time = std::chrono::seconds(6);  ///< after which no further replay starts
    std::function<void(double)> progress = {};                     ///< fraction done
};

/// The executor has run at least once. Fills `time` (median) and `workspace` (most) of each op. Cost: the
/// time of the replays.
Result<void> profile(Graph& graph, Executor& executor, const std::vector<at::Tensor>& inputs,
                     const ProfileOptions& options);

}  // namespace rematlas
