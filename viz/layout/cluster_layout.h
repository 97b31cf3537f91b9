// Lays out a graph frame by frame, so that only new frames take time.
//
// Each frame is laid out together with its twin, inner frames first. In this layout the frames inside are
// boxes of a fixed size. Then all frames are put together, and the route of an edge that crosses frames is
// joined from its parts in these frames. Equal frames (the layers of a network) have the same layout, which
// is taken from a cache. So the time for a large graph depends only on how many different frames it has, and
// expanding another block takes only the time for this block and the frames around it.
//
//     LayoutCache cache;
//     Result<Layout> layout = layout_by_clusters(request, cache, {.time = 5s, .stop = token});
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "viz/layout/layout.h"
#include "viz/layout/layout_units.h"
#include "viz/layout/layout_worker.h"
#include "viz/layout/unit_frames.h"

namespace rematlas {

/// Layouts of small requests. The key is the whole request, written as bytes (its shape). Several threads may
/// share a cache.
class LayoutCache {
  public:
    /// If a new layout would raise the number of points in the cache above `most_points`, the cache first
    /// forgets all layouts. A point takes 16 bytes.
    explicit LayoutCache(std::size_t most_points = 4'000'000) : most_points_(most_points) {}

    std::shared_ptr<const Layout> find(const std::string& shape) const;
    std::shared_ptr<const Layout> keep(const std::string& shape, Layout layout);

  private:
    mutable std::mutex mutex_;
    std::size_t most_points_, points_ = 0;
    std::unordered_map<std::string, std::shared_ptr<const Layout>> layouts_;
};

/// Lays out several small requests. Returns their layouts in the same order.
using LayOut = std::function<Result<std::vector<Layout>>(std::span<const LayoutRequest>)>;

/// Lays out a request frame by frame. Calls `lay_out` for the small requests that the cache does not have,
/// inner frames first; one call gets several requests. Fails as `lay_out` does, or if `stop` is requested.
/// The cache keeps the layouts that were made before an error. Cost, without `lay_out`: 0.1 s for 10,000
/// items in 1,000 frames.
Result<Layout> layout_by_clusters(const LayoutRequest& request, LayoutCache& cache, const LayOut& lay_out,
                                  std::stop_token stop = {});

/// Lays out a request frame by frame with Graphviz in worker programs; several programs run at once if there
/// are many small requests. The memory limit holds for each program.
Result<Layout> layout_by_clusters(const LayoutRequest& request, LayoutCache& cache,
                                  const LayoutLimits& limits = {});

/// The layout of each frame with the frames inside it collapsed. With these layouts, a program without
/// Graphviz can expand and collapse frames.
struct CollapsedFrames {
    LayoutUnits parts;
    std::vector<UnitFrames> frames;    ///< for each unit; not yet placed in the drawing
    std::vector<int> cluster_of_unit;  ///< for each unit: the cluster of its left frame; -1: the unit is the
                                       ///< whole drawing or a section
    std::vector<int> twin_of_unit;     ///< for each unit: the cluster of its right frame; -1: none
};

/// Lays out each frame with the frames inside it collapsed. `collapsed` has the size of each cluster's box.
/// The sections into which a long frame is cut have no titles and are never collapsed, so the box of a
/// section is as large as its content. Fails as `layout_by_clusters` does.
Result<CollapsedFrames> layouts_of_frames(const LayoutRequest& request, std::span<const Size> collapsed,
                                          LayoutCache& cache, const LayoutLimits& limits = {});

}  // namespace rematlas
