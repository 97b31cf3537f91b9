// Long frames cut into sections, so that no single layout grows with the graph. Used by `layout_by_clusters`
// alone.
#pragma once

#include <vector>

#include "viz/layout/layout.h"

namespace rematlas {

/// A request in which no frame holds much more than a hundred members by itself, where it could be cut.
struct SectionedRequest {
    LayoutRequest request;        ///< with a frame without a title around each section
    std::vector<int> cluster_of;  ///< for each cluster of the request before, its index now
};

/// Frames that hold many items and frames are cut in the order of execution; the twin of a frame is cut
/// beside it, so that twins stay in sections that are level with each other. Cost: near linear.
SectionedRequest with_sections(const LayoutRequest& request);

}  // namespace rematlas
