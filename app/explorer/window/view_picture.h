// Writes the part of the graph that the window shows as a picture file.
#pragma once

#include <filesystem>

#include "app/explorer/graph/graph_view.h"
#include "core/base/result.h"

namespace rematlas::explorer {

/// Writes SVG, PNG (with two pixels per pixel of the window) or PDF, by the ending of the path; either the
/// whole file or none. Fails for another ending, or if the file cannot be written.
Result<void> write_view_picture(GraphView& view, const std::filesystem::path& path);

}  // namespace rematlas::explorer
