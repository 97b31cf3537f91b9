// Cuts long frames into sections, so that no single layout grows with the graph. Only `layout_by_clusters`
// uses this.
#pragma once

#include <vector>

#include "viz/layout/layout.h"

namespace rematlas {

/// A request in which no frame directly holds much more than a hundred members, as far as frames can be cut.
struct SectionedRequest {
    LayoutRequest request;        ///< the request with an untitled frame around each section
    std::vector<int> cluster_of;  ///< per cluster of the original request: its index in `request`
};

/// Frames with many members are cut in the order of execution. The twin of a frame is cut with it, so that
/// twins stay in sections that are level with each other. Cost: near linear.
SectionedRequest with_sections(const LayoutRequest& request);

}  // namespace rematlas
