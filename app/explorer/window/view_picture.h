// Writes a picture file of the part of the graph that is visible in the window.
#pragma once

#include <filesystem>

#include "app/explorer/graph/graph_view.h"
#include "core/base/result.h"

namespace rematlas::explorer {

/// Writes SVG, PNG (with two pixels for each pixel of the window) or PDF, according to the ending of the
/// path. Fails for another ending, or if the file cannot be written. Never leaves a part of a file.
Result<void> write_view_picture(GraphView& view, const std::filesystem::path& path);

}  // namespace rematlas::explorer
