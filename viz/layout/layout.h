// Layout requests and layouts as plain values.
//
// Lengths are in points (1/72 inch). y grows downwards, and the origin is the upper left corner of the
// drawing. A request and its layout use the same indices: layout.items[i] is the place of request.items[i].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

struct Size {
    double width = 0;
    double height = 0;
    bool operator==(const Size&) const = default;
};

struct Point {
    double x = 0;
    double y = 0;
    bool operator==(const Point&) const = default;
};

struct Rect {
    double x = 0;  ///< left
    double y = 0;  ///< top
    double width = 0;
    double height = 0;
    bool operator==(const Rect&) const = default;
};

/// The vertical position that an item must have.
enum class LayoutRow {
    any,
    first,  ///< above all items that are not in the first row
    last,   ///< below all items that are not in the last row
};

struct LayoutItem {
    Size size;
    int cluster = -1;  ///< index into `clusters`; -1: the item is in no cluster
    LayoutRow row = LayoutRow::any;
    bool operator==(const LayoutItem&) const = default;
};

/// The role of an edge in the ladder. The left side of the ladder is the forward chain, which runs downwards.
/// The right side is the backward chain, which runs upwards. Rungs lead from the left side to the right side,
/// as saved tensors do. The role says which of the edge's two ends must be above the other.
enum class EdgeRole {
    down,  ///< forward chain: `to` is below `from`
    up,    ///< backward chain: `to` is above `from`
    rung,  ///< from forward to backward: `to` is at the height of `from` or below it
    free,  ///< from forward to backward, as a rung, but without a condition on the heights
};

struct LayoutEdge {
    int from = -1;
    int to = -1;
    EdgeRole role = EdgeRole::down;
    double weight = 1;  ///< 1 .. 100, rounded; edges of larger weight become shorter and straighter
    bool operator==(const LayoutEdge&) const = default;
};

/// Two items that should be side by side, such as an op and its gradient. `right` is never above `left`.
struct LayoutPair {
    int left = -1;
    int right = -1;
    bool operator==(const LayoutPair&) const = default;
};

/// A frame around items and other clusters, with room for a title inside its upper edge.
struct LayoutCluster {
    int parent = -1;  ///< index of the enclosing cluster, smaller than this cluster's index; -1: none
    Size title;       ///< room that is kept for the title; zero: no title
    int twin = -1;    ///< index of the cluster that is beside this cluster at the same height; -1: none
    bool operator==(const LayoutCluster&) const = default;
};

struct LayoutRequest {
    std::vector<LayoutItem> items;
    std::vector<LayoutEdge> edges;
    std::vector<LayoutCluster> clusters;
    std::vector<LayoutPair> pairs;
    double rank_gap = 24;  ///< smallest vertical distance between rows
    double item_gap = 18;  ///< smallest horizontal distance between items
    bool operator==(const LayoutRequest&) const = default;
};

struct Layout {
    Size size;                ///< size of the whole drawing
    std::vector<Rect> items;  ///< places; the sizes are the same as in the request
    /// For each edge: a cubic Bézier spline of 3n + 1 points, from the border of `from` to the border of
    /// `to`, for every role; empty if the edge joins an item to itself.
    std::vector<std::vector<Point>> edges;
    std::vector<Rect> clusters;
    bool operator==(const Layout&) const = default;
};

/// Conversions to and from JSON, in the form that the worker program reads and writes. Reading fails if an
/// index is out of range, a size is not finite or not positive, or clusters form a cycle. The error message
/// is one line that names the field.
nlohmann::json to_json(const LayoutRequest& request);
nlohmann::json to_json(const Layout& layout);
Result<LayoutRequest> layout_request_from(const nlohmann::json& json);
Result<Layout> layout_from(const nlohmann::json& json);

}  // namespace rematlas
