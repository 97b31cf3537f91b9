// The blocks of a step for a page that expands and collapses them: the layout of each block on its
// own, with the blocks inside collapsed. The page puts them together: what stands beside a block that
// it expands moves aside, and edges are joined from their parts.
//
// An object of columns (packed_column.h):
// - "labels", "paths": indices of strings, one a frame; "phases", "repeats": one a frame.
// - "titled", "titles": ops that have the name of the block around them, which holds nothing else:
//   their numbers as changes, and indices of strings.
// - "shapes": how the members of a unit lie, each a column: the count of members, then x, y, width
//   and height of each; the count of ports, then x and y of each; the count of edges, then of each
//   `from`, `to` and role, how many points its route has (0: it leads straight on), and the points,
//   each as the way from the one before. Indices below the count of members are members, the others
//   ports. Routes begin at 0, 0.
// - "units": each a column: the parent, the shape, the left and the right frame (-1: none), their
//   widths, the height, how far to the right of the left frame the right one begins, then a number
//   for each member: twice what it is, plus its side. What it is: twice the op, or twice (twice the
//   unit plus the frame) plus 1.
//
// Lengths are points, rounded; y grows downwards from the upper edge of the frames, x from the left
// frame's left edge. Units come after the units around them, and the first one is the sheet.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "viz/layout/layout_worker.h"
#include "viz/report/page_strings.h"

namespace rematlas {

/// Errors: those of the layout. Cost: that of a layout of all blocks, 1 s for 10,000 different ops.
Result<nlohmann::json> block_geometry(const Graph& graph, PageStrings& strings, const LayoutLimits& limits);

}  // namespace rematlas
