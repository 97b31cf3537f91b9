#include "viz/report/block_geometry.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/hierarchy/decompose.h"
#include "viz/block_view/block_view.h"
#include "viz/layout/cluster_layout.h"
#include "viz/paint/blocks_painter.h"
#include "viz/paint/canvas.h"
#include "viz/report/packed_column.h"

namespace rematlas {
namespace {

using nlohmann::json;

std::int64_t rounded(double length) {
    return std::llround(length);
}

/// Returns the view that shows every op, in all of its frames.
BlockView wholly_expanded(const Graph& graph) {
    const Blocks blocks = decompose(graph);
    ExpandedBlocks expanded;
    for (const BlockId block : blocks.ids()) expanded.insert(block);
    for (const BlockId first : runs_of(blocks).first)
        if (first.valid()) expanded.unfolded.insert(first);
    return make_block_view(graph, blocks, expanded);
}

/// Returns the sizes of the boxes of collapsed frames. Each size depends on the texts of the box, as for an
/// item of a view.
std::vector<Size> collapsed_sizes(const BlockView& view) {
    BlockView boxes;
    for (const BlockViewCluster& cluster : view.clusters) {
        BlockViewItem item;
        item.block = cluster.block;
        item.label = cluster.label;
        item.path = cluster.path;
        item.op_count = 0;
        boxes.items.push_back(std::move(item));
    }
    for (const BlockViewItem& item : view.items) {
        for (int c = item.cluster; c >= 0; c = view.clusters[static_cast<std::size_t>(c)].parent) {
            BlockViewItem& box = boxes.items[static_cast<std::size_t>(c)];
            box.op_count += item.op_count;
            box.time += item.time;
            box.made.kept += item.made.total();
        }
    }
    return item_sizes(boxes, picture_ruler());
}

/// Writes the shapes and units of all frames; equal frames share a shape.
class GeometryWriter {
  public:
    GeometryWriter(const BlockView& view, const CollapsedFrames& layouts) : view_(view), layouts_(layouts) {}

    json write() {
        json units = json::array();
        for (std::size_t u = 0; u < layouts_.parts.units.size(); ++u) units.push_back(unit(u));
        return {{"shapes", std::move(shapes_)}, {"units", std::move(units)}};
    }

  private:
    std::string unit(std::size_t u) {
        const LayoutUnit& unit = layouts_.parts.units[u];
        const UnitFrames& frames = layouts_.frames[u];
        PackedColumn column;
        column.add(unit.parent);
        column.add(shape_of(u));
        column.add(layouts_.cluster_of_unit[u]);
        column.add(layouts_.twin_of_unit[u]);
        column.add(rounded(frames.size(0).width));
        column.add(unit.is_pair() ? rounded(frames.size(1).width) : 0);
        column.add(rounded(frames.size(0).height));
        column.add(unit.is_pair() ? rounded(frames.place(Point{}, 0).x - frames.place(Point{}, 1).x) : 0);
        for (const UnitMember& member : unit.members) {
            const int what = member.item >= 0
                                 ? 2 * view_.items[static_cast<std::size_t>(member.item)].op.value
                                 : 2 * (2 * member.unit + member.frame) + 1;
            column.add(2 * std::int64_t{what} + member.side);
        }
        return column.take();
    }

    std::int64_t shape_of(std::size_t u) {
        const UnitFrames& frames = layouts_.frames[u];
        const auto key = std::pair(&frames.layout(), rounded(frames.size(0).height));
        const auto [place, fresh] = known_.try_emplace(key, static_cast<std::int64_t>(shapes_.size()));
        if (fresh) shapes_.push_back(shape(layouts_.parts.units[u], frames));
        return place->second;
    }

    static std::string shape(const LayoutUnit& unit, const UnitFrames& frames) {
        const Layout& layout = frames.layout();
        const std::size_t members = unit.members.size();
        PackedColumn column;
        const auto add_place = [&](const Rect& rect) {
            const Rect at = frames.place(rect, 0);
            column.add(rounded(at.x));
            column.add(rounded(at.y));
        };
        column.add(static_cast<std::int64_t>(members));
        for (std::size_t i = 0; i < members; ++i) {
            add_place(layout.items[i]);
            column.add(rounded(layout.items[i].width));
            column.add(rounded(layout.items[i].height));
        }
        column.add(static_cast<std::int64_t>(layout.items.size() - members));
        for (std::size_t i = members; i < layout.items.size(); ++i) add_place(layout.items[i]);
        column.add(static_cast<std::int64_t>(unit.request.edges.size()));
        for (std::size_t i = 0; i < unit.request.edges.size(); ++i) {
            const LayoutEdge& edge = unit.request.edges[i];
            column.add(edge.from);
            column.add(edge.to);
            column.add(static_cast<std::int64_t>(edge.role));
            add_route(column, edge.role, layout.edges[i], frames);
        }
        return column.take();
    }

    /// Adds the route of an edge. If the route is a single curve in the direction of the forward or backward
    /// chain, its points are left out, because the page can compute them from the ends.
    static void add_route(PackedColumn& column, EdgeRole role, const std::vector<Point>& spline,
                          const UnitFrames& frames) {
        const bool flow = role == EdgeRole::down || role == EdgeRole::up;
        const bool told = spline.size() < 4 || (flow && spline.size() == 4);
        column.add(told ? 0 : static_cast<std::int64_t>(spline.size()));
        if (told) return;
        std::int64_t x = 0, y = 0;
        for (const Point& point : spline) {
            const Point at = frames.place(point, 0);
            column.add(rounded(at.x) - x);
            column.add(rounded(at.y) - y);
            x = rounded(at.x);
            y = rounded(at.y);
        }
    }

    const BlockView& view_;
    const CollapsedFrames& layouts_;
    json shapes_ = json::array();
    std::map<std::pair<const Layout*, std::int64_t>, std::int64_t> known_;
};

}  // namespace

Result<json> block_geometry(const Graph& graph, PageStrings& strings, const LayoutLimits& limits) {
    const BlockView view = wholly_expanded(graph);
    const std::vector<Size> sizes = item_sizes(view, picture_ruler()),
                            titles = title_sizes(view, picture_ruler());
    LayoutCache shapes;
    const Result<CollapsedFrames> layouts =
        layouts_of_frames(layout_request(view, sizes, titles), collapsed_sizes(view), shapes, limits);
    if (!layouts) return layouts.error();
    json geometry = GeometryWriter(view, *layouts).write();
    PackedColumn labels, paths, phases, repeats;
    for (const BlockViewCluster& cluster : view.clusters) {
        labels.add(strings.place_of(numbered_block(cluster.label, cluster.path)));
        paths.add(strings.place_of(cluster.path));
        phases.add(static_cast<std::int64_t>(cluster.phase));
        repeats.add(cluster.repeats);
    }
    PackedColumn titled, titles_of;
    for (const BlockViewItem& item : view.items) {
        if (!item.block.valid()) continue;
        titled.add_change(item.op.value);
        titles_of.add(strings.place_of(item_title(item)));
    }
    geometry["titled"] = titled.take();
    geometry["titles"] = titles_of.take();
    geometry["labels"] = labels.take();
    geometry["paths"] = paths.take();
    geometry["phases"] = phases.take();
    geometry["repeats"] = repeats.take();
    return geometry;
}

}  // namespace rematlas
