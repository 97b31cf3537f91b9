// A request taken apart into small ones: what stands directly in a frame and in the frame of its twin is laid
// out together, and each frame inside is a box there. Used by `layout_by_clusters`,
// and by readers of `layouts_of_frames`.
#pragma once

#include <array>
#include <vector>

#include "viz/layout/layout.h"

namespace rematlas {

/// What stands in a unit: an item of the whole request, or one frame of another unit as a box.
struct UnitMember {
    int item = -1;
    int unit = -1;       ///< of the box; -1: it is an item
    int frame = 0;       ///< of the box: which frame of that unit it is
    int side = 0;        ///< which frame of the unit around it holds it
    int first_item = 0;  ///< the first item inside: members stand in this order
};

/// A frame with its twin beside it, a frame alone, or (the first one) the sheet that holds all.
struct LayoutUnit {
    std::array<int, 2> clusters{-1, -1};  ///< left and right frame; -1: none
    int parent = -1;
    std::array<int, 2> member_of_parent{-1, -1};  ///< of each frame
    int height = 0;                               ///< 0: it holds no boxes
    std::vector<UnitMember> members;
    /// What is asked of Graphviz. Items are the members, then the ports: places on the border through which
    /// edges enter and leave. The sizes of boxes are filled in once they are known.
    LayoutRequest request;

    bool is_pair() const { return clusters[0] >= 0 && clusters[1] >= 0; }
    bool is_port(int item) const { return item >= static_cast<int>(members.size()); }
    bool is_box(int item) const { return !is_port(item) && members[item].unit >= 0; }
};

/// An edge of a unit's request.
struct UnitEdge {
    int unit = -1;
    int edge = -1;
    int side = 0;  ///< of the frame it runs in
};

/// What becomes of an edge of the whole request.
struct EdgePlan {
    std::vector<UnitEdge> pieces;  ///< from its beginning to its end; empty: it leads straight across
    int across = -1;               ///< for those: the innermost unit that holds both ends,
    std::array<int, 2> ends{};     ///< and the members in which they are
};

struct LayoutUnits {
    std::vector<LayoutUnit> units;  ///< units come after the units around them
    std::vector<EdgePlan> edges;    ///< one an edge of the request
    std::vector<int> unit_of_item, member_of_item;
};

/// Cost: edges times the depth of frames.
LayoutUnits units_of(const LayoutRequest& request);

}  // namespace rematlas
