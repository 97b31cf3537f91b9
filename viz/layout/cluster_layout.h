// A layout made a frame at a time, so that it takes time for what is new in it only.
//
// Each frame is laid out together with its twin, with the frames inside as boxes of a fixed size, from the
// inside out; then all are put together, and edges that cross frames are joined from their parts. Equal frames
// (the layers of a network) ask for the same layout, which a cache gives at once. So a large graph takes as
// long as its different parts, and another block expanded as long as the frames around it.
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

/// Layouts of small requests. Threads may share one.
class LayoutCache {
  public:
    /// Forgets all when it has as many points as this: 8 bytes are a quarter of a point.
    explicit LayoutCache(std::size_t most_points = 4'000'000) : most_points_(most_points) {}

    std::shared_ptr<const Layout> find(const std::string& shape) const;
    std::shared_ptr<const Layout> keep(const std::string& shape, Layout layout);

  private:
    mutable std::mutex mutex_;
    std::size_t most_points_, points_ = 0;
    std::unordered_map<std::string, std::shared_ptr<const Layout>> layouts_;
};

/// Answers several small requests, in their order.
using LayOut = std::function<Result<std::vector<Layout>>(std::span<const LayoutRequest>)>;

/// Errors: those of `lay_out`, and `stopped`; the cache keeps what was laid out before. Asks once for each
/// shape that the cache lacks, from the inside out, some in each call. Cost beside `lay_out`: 0.1 s for 10,000 items in 1,000 frames.
Result<Layout> layout_by_clusters(const LayoutRequest& request, LayoutCache& cache, const LayOut& lay_out,
                                  std::stop_token stop = {});

/// The same with Graphviz, in worker programs, several where there is much to do. The memory limit is of each.
Result<Layout> layout_by_clusters(const LayoutRequest& request, LayoutCache& cache,
                                  const LayoutLimits& limits = {});

/// What a reader without Graphviz needs who expands and collapses frames: each frame laid out with the frames
/// inside collapsed.
struct CollapsedFrames {
    LayoutUnits parts;
    std::vector<UnitFrames> frames;  ///< one a unit; none is put in its place
    std::vector<int>
        cluster_of_unit;  ///< of the request: the left frame of each unit; -1: the sheet or a section
    std::vector<int> twin_of_unit;  ///< of the request: the right frame; -1: none
};

/// `collapsed` has the size of each cluster's box. A section, into which a long frame was cut, has no
/// title to be collapsed to: its box is as large as what it holds. Errors: as above.
Result<CollapsedFrames> layouts_of_frames(const LayoutRequest& request, std::span<const Size> collapsed,
                                          LayoutCache& cache, const LayoutLimits& limits = {});

}  // namespace rematlas
