// Splits a request into small ones. The members that stand directly in a frame or in its twin are laid out
// together, and each frame inside is a box there. `layout_by_clusters` and readers of `layouts_of_frames`
// use this.
#pragma once

#include <array>
#include <vector>

#include "viz/layout/layout.h"

namespace rematlas {

/// A member of a unit: an item of the whole request, or one frame of another unit as a box.
struct UnitMember {
    int item = -1;
    int unit = -1;       ///< the unit whose frame the box is; -1: an item
    int frame = 0;       ///< of a box: which frame of `unit` it is
    int side = 0;        ///< which frame of the unit around holds the member
    int first_item = 0;  ///< the first item inside; members are sorted by it
};

/// A frame with its twin beside it, a frame alone, or (the first one) the sheet that holds all.
struct LayoutUnit {
    std::array<int, 2> clusters{-1, -1};  ///< left and right frame; -1: none
    int parent = -1;
    std::array<int, 2> member_of_parent{-1, -1};  ///< per frame: its box among the members of `parent`
    int height = 0;                               ///< levels of boxes inside; 0: none
    std::vector<UnitMember> members;
    /// The request for Graphviz. Its items are the members, then the ports: places on the border through
    /// which edges enter and leave. The sizes of boxes are filled in once they are known.
    LayoutRequest request;

    bool is_pair() const { return clusters[0] >= 0 && clusters[1] >= 0; }
    bool is_port(int item) const { return item >= static_cast<int>(members.size()); }
    bool is_box(int item) const { return !is_port(item) && members[item].unit >= 0; }
};

/// An edge of a unit's request.
struct UnitEdge {
    int unit = -1;
    int edge = -1;
    int side = 0;  ///< which frame of the unit the edge runs in
};

/// How an edge of the whole request is routed.
struct EdgePlan {
    std::vector<UnitEdge> pieces;  ///< from start to end of the edge; empty: it leads straight across
    int across = -1;               ///< of an edge straight across: the innermost unit with both ends
    std::array<int, 2> ends{};     ///< the members of `across` that hold the ends
};

struct LayoutUnits {
    std::vector<LayoutUnit> units;  ///< units come after the units around them
    std::vector<EdgePlan> edges;    ///< one per edge of the request
    std::vector<int> unit_of_item, member_of_item;
};

/// Cost: edges times the depth of frames.
LayoutUnits units_of(const LayoutRequest& request);

}  // namespace rematlas
