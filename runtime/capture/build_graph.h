// Turns a recording into the training graph and the tape that replays it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/graph/graph.h"
#include "runtime/capture/recording.h"

namespace rematlas {

struct CapturedStep {
    Graph graph;  ///< times and workspaces as recorded, zero if not measured; `replay` is not set
    Tape tape;
};

/// Drops ops that nothing needs, unites equal constants, and decides how each write to a parameter or
/// buffer appears in the graph:
///   - written by one op and used by no other: the op `mutates` the tensor, its first run for good;
///   - any other write: the new contents are a tensor of their own, copied to the buffer when the step ends.
/// Where the program reads a value in its forward, the op makes a tensor of no bytes that the caller's loss
/// takes, so that no schedule reads the value later. `footprint`: the bytes that a storage of so many bytes
/// takes on the device; the tensors of the graph have these bytes.
CapturedStep build_graph(
    const Recording& recording,
    const std::function<std::int64_t(std::int64_t)>& footprint = [](std::int64_t bytes) { return bytes; });

/// Writes the tape into the graph and validates both. Errors: one line that begins with `name`; values that
/// a file cannot hold.
Result<void> make_replayable(CapturedStep& step, const std::string& name);

}  // namespace rematlas
