// Explains the colours of the graph in a strip along the lower edge of the graph's view.
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

/// Returns an entry for each colour that the layer shows. Returns no entries while the layer is empty. A
/// decision or a phase that no item has gets no entry. `heat` is used for `Coloring::heat`.
std::vector<LegendEntry> legend_of(const GraphLayer& layer, const ItemHeat& heat);

/// Paints the entries, in several rows if one row is too narrow. The strip is as wide as the view, so that no
/// part of the graph shows beside the entries. Returns the strip's height, in points of the canvas.
double paint_legend(Canvas& canvas, const std::vector<LegendEntry>& entries, Size view);

}  // namespace rematlas::explorer
