// Paints the ladder graph of blocks, for a window at any zoom and for a file.
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

/// The property that the colours of items and edges show. `heat` is a number of each item, such as its time
/// (`BlockScene::heat`).
enum class Coloring { decision, phase, heat };

/// Marks on an item besides its colour.
struct ItemNote {
    bool aside = false;               ///< the item is pale, because it is outside the part that the user
                                      ///< looks at
    std::optional<PinKind> pin = {};  ///< the user's pin on all or a part of the item
};

/// A picture: its content and where it is painted. References must stay valid while the picture is painted.
struct BlockScene {
    const BlockView& view;
    const Layout& layout;
    bool with_schedule = false;  ///< false: no decisions are known, so colours show phases
    Coloring coloring = Coloring::decision;
    /// For each item: a number from 0 to 1, or below 0 if the item has no number. Must be set for
    /// `Coloring::heat`.
    const std::vector<double>* heat = nullptr;
    Point origin = {};  ///< where the upper left corner of the layout is

    double detail = 10;  ///< pixels per point on the screen; details that would be too small are left out
    std::optional<Rect> part = {};  ///< the visible part of the layout; absent: all of it
    /// Indices of the items and edges to paint, as found by a spatial index; null: all. Edges must be in the
    /// order of `edges_by_weight`.
    const std::vector<int>* items = nullptr;
    const std::vector<int>* edges = nullptr;

    const std::vector<int>* marked = nullptr;  ///< selected items, ascending
    int marked_cluster = -1;
    int marked_edge = -1;
    const std::vector<ItemNote>* notes = nullptr;  ///< one note for each item; null: no notes
    int running = -1;                              ///< the item whose op runs at the cursor; -1: none
    const palette::Paper& paper = palette::kLight;
};

void paint_blocks(Canvas& canvas, const BlockScene& scene);

/// Returns the indices of the edges, the heaviest first, so that light edges are painted on top.
std::vector<int> edges_by_weight(const BlockView& view);

/// Returns the bytes of the heaviest edge; 0 without edges.
std::int64_t heaviest_edge(const BlockView& view);
/// Returns the width of an edge in points.
double edge_width(std::int64_t bytes, std::int64_t heaviest);

/// Returns the colour of an item at full strength. The item itself is painted paler.
Color item_color(const BlockViewItem& item, bool with_schedule, Coloring coloring,
                 const palette::Paper& paper = palette::kLight);

/// Returns the colour for a number from 0 (little) to 1 (much). People with any colour vision can distinguish
/// these colours. If the number is below 0, returns the colour that means "no value".
Color heat_color(double heat, const palette::Paper& paper);

/// Returns the first line of an item: its name. A name that is only a number is preceded by the part of the
/// path before it ("layers.0").
std::string item_title(const BlockViewItem& item);
/// Returns the second line: "12 ops · 34.0 MiB · 1.20 ms".
std::string item_caption(const BlockViewItem& item);
/// Returns "layers.0" for a block named "0" with the path "encoder.layers.0", and "block 0" if the path has
/// no part before the number. Runs such as "0-5" are treated in the same way. Other names are returned as
/// they are.
std::string numbered_block(const std::string& name, const std::string& path);

/// Return the sizes that the texts of the items and the titles of the clusters need. The sizes suffice for
/// every schedule, so a new schedule needs no new layout.
std::vector<Size> item_sizes(const BlockView& view, const TextRuler& ruler);
std::vector<Size> title_sizes(const BlockView& view, const TextRuler& ruler);

}  // namespace rematlas
