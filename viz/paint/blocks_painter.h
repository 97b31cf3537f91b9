// The ladder graph of blocks, for a window at any zoom and for a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/schedule/pin.h"
#include "viz/block_view/block_view.h"
#include "viz/layout/layout.h"
#include "viz/paint/canvas.h"
#include "viz/paint/palette.h"

namespace rematlas {

/// What the colours of items and edges tell. `heat`: a figure of each item, from little to much.
enum class Coloring { decision, phase, heat };

/// Notes on an item beside its colour.
struct ItemNote {
    bool aside = false;               ///< the item is pale: it is not in the part that the user looks at
    std::optional<PinKind> pin = {};  ///< the user's pin on all or a part of the item
};

/// What is shown, and where. References must stay valid while it is painted.
struct BlockScene {
    const BlockView& view;
    const Layout& layout;
    bool with_schedule = false;  ///< false: no decisions are known, so colours show phases
    Coloring coloring = Coloring::decision;
    /// One figure per item, from 0 to 1; below 0: the item has no such figure. Needed for `Coloring::heat`.
    const std::vector<double>* heat = nullptr;
    Point origin = {};  ///< where the layout's upper left corner lies

    double detail = 10;  ///< pixels per point on the screen; details that are too small are left out
    std::optional<Rect> part = {};  ///< the visible part of the layout; absent: all
    /// Indices of the items and edges to paint, as a spatial index finds them; null: all. Edges are in the
    /// order of `edges_by_weight`.
    const std::vector<int>* items = nullptr;
    const std::vector<int>* edges = nullptr;

    const std::vector<int>* marked = nullptr;  ///< items that are selected, ascending
    int marked_cluster = -1;
    int marked_edge = -1;
    const std::vector<ItemNote>* notes = nullptr;  ///< one per item; null: no notes
    int running = -1;                              ///< the item whose op runs at the cursor
    const palette::Paper& paper = palette::kLight;
};

void paint_blocks(Canvas& canvas, const BlockScene& scene);

/// Indices of the edges, the heaviest first, so that light edges lie on top.
std::vector<int> edges_by_weight(const BlockView& view);

/// Bytes of the heaviest edge; 0 without edges.
std::int64_t heaviest_edge(const BlockView& view);
/// The width of an edge in points.
double edge_width(std::int64_t bytes, std::int64_t heaviest);

/// The colour of an item at full strength; the item itself is painted paler.
Color item_color(const BlockViewItem& item, bool with_schedule, Coloring coloring,
                 const palette::Paper& paper = palette::kLight);

/// From little (0) to much (1), told apart with any colour vision; below 0: nothing to tell.
Color heat_color(double heat, const palette::Paper& paper);

/// The first line of an item: its name. A name that is a mere number has the part of the path before it
/// ("layers.0").
std::string item_title(const BlockViewItem& item);
/// The second line: "12 ops · 34.0 MiB · 1.20 ms".
std::string item_caption(const BlockViewItem& item);
/// "layers.0" for a block named "0" with the path "encoder.layers.0", "block 0" where nothing comes before;
/// the same for a run, "0-5"; other names as they are.
std::string numbered_block(const std::string& name, const std::string& path);

/// Sizes that hold the texts of the items and the titles of the clusters, whatever the schedule.
std::vector<Size> item_sizes(const BlockView& view, const TextRuler& ruler);
std::vector<Size> title_sizes(const BlockView& view, const TextRuler& ruler);

}  // namespace rematlas
