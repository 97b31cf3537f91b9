// Writes a picture file of the part of the graph that is visible in the window.
#pragma once

#include <filesystem>

#include "app/explorer/graph/graph_view.h"
#include "core/base/result.h"

namespace rematlas::explorer {

/// Writes SVG, PNG (two by two pixels for each pixel of the window) or PDF, according to the ending of the
/// path. Fails for another ending, or if the file cannot be written. Writes the whole file or nothing.
Result<void> write_view_picture(GraphView& view, const std::filesystem::path& path);

}  // namespace rematlas::explorer
