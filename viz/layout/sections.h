// Cuts long frames into sections, so that no single layout grows with the graph. Only `layout_by_clusters`
// uses this file.
#pragma once

#include <vector>

#include "viz/layout/layout.h"

namespace rematlas {

/// A request whose long frames are cut into sections. No frame has more than 60 direct members.
struct SectionedRequest {
    LayoutRequest request;        ///< the request, with an untitled frame around each section
    std::vector<int> cluster_of;  ///< for each cluster of the original request: its index in `request`
};

/// Cuts each frame with many direct members into sections, along the order of execution. A frame and its twin
/// are cut together, so that twins stay in sections at the same height. Cost: nearly linear.
SectionedRequest with_sections(const LayoutRequest& request);

}  // namespace rematlas
