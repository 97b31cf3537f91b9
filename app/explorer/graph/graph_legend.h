// What the colours of the graph mean: a strip along the lower edge of the graph's view.
#pragma once

#include <vector>

#include "app/explorer/graph/graph_layer.h"
#include "app/explorer/models/item_heat.h"
#include "viz/paint/canvas.h"

namespace rematlas::explorer {

struct LegendEntry {
    QString name;
    Color color;
};

/// Of what the layer shows; none while it shows nothing. `heat` is for `Coloring::heat`. What no item does
/// needs no room.
std::vector<LegendEntry> legend_of(const GraphLayer& layer, const ItemHeat& heat);

/// As many rows as the width takes, over the whole width, so that nothing of the graph looks out behind it.
/// Returns the height, in points of the canvas.
double paint_legend(Canvas& canvas, const std::vector<LegendEntry>& entries, Size view);

}  // namespace rematlas::explorer
