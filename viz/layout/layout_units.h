// Splits a layout request into smaller requests. The direct members of a frame and of its twin, the frame
// beside it, are laid out together. In their layout, each inner frame is a box. `layout_by_clusters` uses
// this file, and so do readers of `layouts_of_frames`.
#pragma once

#include <array>
#include <vector>

#include "viz/layout/layout.h"

namespace rematlas {

/// A member of a unit: an item of the whole request, or a box that represents a frame of another unit.
struct UnitMember {
    int item = -1;
    int unit = -1;       ///< for a box: the unit whose frame it represents; -1: the member is an item
    int frame = 0;       ///< for a box: which frame of `unit` it represents, 0 (left) or 1 (right)
    int side = 0;        ///< which frame of the surrounding unit contains the member, 0 (left) or 1 (right)
    int first_item = 0;  ///< the item itself, or the first item in the box; members are sorted by it
};

/// A frame with its twin beside it, a single frame, or the sheet. The sheet is the first unit, and contains
/// the whole drawing.
struct LayoutUnit {
    std::array<int, 2> clusters{-1, -1};  ///< left and right frame; -1: none
    int parent = -1;
    std::array<int, 2> member_of_parent{-1, -1};  ///< for each frame: index of its box among the members of
                                                  ///< `parent`
    int height = 0;                               ///< number of levels of boxes inside; 0: no boxes
    std::vector<UnitMember> members;
    /// The request for Graphviz. Its items are first the members, then the ports: places on the border
    /// through which edges enter and leave. The sizes of boxes are set as soon as they are known.
    LayoutRequest request;

    bool is_pair() const { return clusters[0] >= 0 && clusters[1] >= 0; }
    bool is_port(int item) const { return item >= static_cast<int>(members.size()); }
    bool is_box(int item) const { return !is_port(item) && members[item].unit >= 0; }
};

/// An edge of a unit's request.
struct UnitEdge {
    int unit = -1;
    int edge = -1;
    int side = 0;  ///< the frame in which the edge starts, 0 (left) or 1 (right)
};

/// Says how an edge of the whole request is routed.
struct EdgePlan {
    std::vector<UnitEdge> pieces;  ///< from start to end of the edge; empty if the edge is drawn straight
                                   ///< across
    int across = -1;               ///< for an edge drawn straight across: the innermost unit with both ends
    std::array<int, 2> ends{};     ///< the members of `across` that contain the ends
};

struct LayoutUnits {
    std::vector<LayoutUnit> units;  ///< a unit comes after the units around it
    std::vector<EdgePlan> edges;    ///< for each edge of the request
    std::vector<int> unit_of_item, member_of_item;
};

/// Splits a request into units. Cost: edges times the depth of frames.
LayoutUnits units_of(const LayoutRequest& request);

}  // namespace rematlas
