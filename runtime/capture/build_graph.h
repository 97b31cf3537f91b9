// Turns a recording into the training graph and the tape that replays it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/graph/graph.h"
#include "runtime/capture/recording.h"

namespace rematlas {

struct CapturedStep {
    Graph graph;  ///< without `replay`; times and workspaces as recorded, zero if not measured
    Tape tape;
};

/// Drops ops whose results nothing needs, merges equal constants, and decides how each write to a parameter
/// or buffer appears in the graph:
///   - one op writes the tensor and no other op uses it: the op `mutates` the tensor, in its first run only;
///   - any other write: the new contents are a tensor, which is copied to the parameter or
///     buffer when the step ends.
/// If the program reads a value in its forward, the op that makes the value also makes a tensor without
/// bytes, which the caller's loss reads. So every schedule runs that op before the loss. `footprint` returns
/// the bytes that a storage of the given size takes on the device: the size of a tensor in the graph.
CapturedStep build_graph(
    const Recording& recording,
    const std::function<std::int64_t(std::int64_t)>& footprint = [](std::int64_t bytes) { return bytes; });

/// Writes the tape into the graph and validates both. Fails, with one line that begins with `name`, if they
/// are not valid or if a file cannot hold one of the values.
Result<void> make_replayable(CapturedStep& step, const std::string& name);

}  // namespace rematlas
