// A layout that is made frame by frame, so that only the new frames in it take time.
//
// Each frame is laid out together with its twin, from the inside out. The frames inside are boxes of a fixed
// size. Then all frames are put together, and edges that cross frames are joined from their parts. Equal
// frames (the layers of a network) ask for the same layout, which a cache gives at once. So a large graph
// takes as long as its different parts, and expanding another block takes as long as the frames around the
// block.
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

/// Layouts of small requests. Threads may share a cache.
class LayoutCache {
  public:
    /// The cache forgets all layouts when they would have more points than `most_points`. A point takes 16
    /// bytes.
    explicit LayoutCache(std::size_t most_points = 4'000'000) : most_points_(most_points) {}

    std::shared_ptr<const Layout> find(const std::string& shape) const;
    std::shared_ptr<const Layout> keep(const std::string& shape, Layout layout);

  private:
    mutable std::mutex mutex_;
    std::size_t most_points_, points_ = 0;
    std::unordered_map<std::string, std::shared_ptr<const Layout>> layouts_;
};

/// Lays out several small requests and returns their layouts, in the same order.
using LayOut = std::function<Result<std::vector<Layout>>(std::span<const LayoutRequest>)>;

/// Asks `lay_out` once for each shape that the cache lacks, from the inside out, several shapes in each
/// call. Errors: those of `lay_out`, and `stopped`; the cache keeps the layouts from before the error. Cost
/// beside `lay_out`: 0.1 s for 10,000 items in 1,000 frames.
Result<Layout> layout_by_clusters(const LayoutRequest& request, LayoutCache& cache, const LayOut& lay_out,
                                  std::stop_token stop = {});

/// The same with Graphviz in worker programs, several at once if there are many requests. The memory limit
/// holds for each program.
Result<Layout> layout_by_clusters(const LayoutRequest& request, LayoutCache& cache,
                                  const LayoutLimits& limits = {});

/// Each frame laid out with the frames inside it collapsed. This is what a reader without Graphviz needs to
/// expand and collapse frames.
struct CollapsedFrames {
    LayoutUnits parts;
    std::vector<UnitFrames> frames;    ///< one per unit; not placed in the drawing yet
    std::vector<int> cluster_of_unit;  ///< the left frame of each unit; -1: the sheet or a section
    std::vector<int> twin_of_unit;     ///< the right frame of each unit; -1: none
};

/// `collapsed` has the size of the box of each cluster. The sections into which a long frame is cut have no
/// titles and are not collapsed, so the box of a section is as large as its content. Errors: as above.
Result<CollapsedFrames> layouts_of_frames(const LayoutRequest& request, std::span<const Size> collapsed,
                                          LayoutCache& cache, const LayoutLimits& limits = {});

}  // namespace rematlas
