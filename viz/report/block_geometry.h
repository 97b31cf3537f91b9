// The blocks of a step for a page that can expand and collapse them: the layout of each block, in which the
// blocks inside are collapsed. The page puts these layouts together. When the page expands a block, it moves
// the items beside the block aside, and joins edges from their parts.
//
// The result is an object of columns (packed_column.h):
// - "labels", "paths": indices of strings, one for each frame; "phases", "repeats": one number for each
//   frame.
// - "titled", "titles": ops whose item has the name of the surrounding block, because the block contains
//   nothing else. "titled" are the numbers of the ops as differences, "titles" indices of strings.
// - "shapes": the positions in a unit (layout_units.h), one column for each shape: the number of members,
//   then x, y, width and height of each; the number of ports, then x and y of each; the number of edges, then
//   the numbers of each edge. These are `from`, `to`, the role, the number of points of the route (0: the
//   page computes the route), and the points, each as the difference from the previous point. The first point
//   is the difference from 0, 0. In `from` and `to`, indices below the number of members are members, the
//   other indices are ports.
// - "units": one column for each unit: the parent, the shape, the left and the right frame (-1: none), their
//   widths, the height, the distance from the left edge of the left frame to that of the right frame, then a
//   number for each member: 2 * code + side. The code is 2 * op for an op, and 2 * (2 * unit + frame) + 1 for
//   a frame.
//
// Lengths are in points, rounded. y grows downwards from the upper edge of the frames, x grows from the left
// edge of the left frame. A unit comes after the units around it. The first unit is the whole drawing.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "viz/layout/layout_worker.h"
#include "viz/report/page_strings.h"

namespace rematlas {

/// Fails if the blocks cannot be laid out. Cost: a layout of all blocks; 1 s for 10,000 different ops.
Result<nlohmann::json> block_geometry(const Graph& graph, PageStrings& strings, const LayoutLimits& limits);

}  // namespace rematlas
