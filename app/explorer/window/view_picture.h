// The part of the graph that the window shows, as a picture file.
#pragma once

#include <filesystem>

#include "app/explorer/graph/graph_view.h"
#include "core/base/result.h"

namespace rematlas::explorer {

/// SVG, PNG (two pixels for one of the window) or PDF, by the ending of the path; the whole file or none.
/// Errors: another ending, a file that cannot be written.
Result<void> write_view_picture(GraphView& view, const std::filesystem::path& path);

}  // namespace rematlas::explorer
