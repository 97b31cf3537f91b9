#include "app/explorer/graph/graph_legend.h"

#include <set>

#include "app/explorer/look/theme.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

constexpr double row_height = 20, side = 10, dot = 9;

std::vector<Decision> decisions_in(const BlockView& view) {
    bool again = false, offloaded = false;
    for (const BlockViewItem& item : view.items) {
        again |= item.made.recomputed.value > 0;
        offloaded |= item.made.offloaded.value > 0;
    }
    std::vector<Decision> seen{Decision::keep};
    if (again) seen.push_back(Decision::recompute);
    if (offloaded) seen.push_back(Decision::offload);
    return seen;
}

std::vector<LegendEntry> heat_legend(const ItemHeat& heat) {
    if (heat.shares.empty()) return {};
    const palette::Paper& paper = theme::paper();
    return {{heat.least, heat_color(0, paper)},
            {heat.half, heat_color(0.5, paper)},
            {heat.most, heat_color(1, paper)}};
}

}  // namespace

std::vector<LegendEntry> legend_of(const GraphLayer& layer, const ItemHeat& heat) {
    if (!layer.ladder()) return {};
    if (layer.coloring() == Coloring::heat) return heat_legend(heat);
    const palette::Paper& paper = theme::paper();
    const BlockView& view = layer.ladder()->view;
    std::vector<LegendEntry> entries;
    std::set<Phase> phases;
    for (const BlockViewItem& item : view.items) phases.insert(item.phase);
    if (layer.coloring() == Coloring::decision && layer.has_schedule()) {
        for (const Decision decision : decisions_in(view))
            entries.push_back({decision_text(decision), paper.of(decision)});
        phases.erase(Phase::forward);  // forward items have the colours of decisions
    }
    for (const Phase phase : phases) entries.push_back({phase_text(phase), paper.of(phase)});
    return entries;
}

double paint_legend(Canvas& canvas, const std::vector<LegendEntry>& entries, Size view) {
    if (entries.empty()) return 0;
    const palette::Paper& paper = theme::paper();
    const TextStyle style{.size = 11, .color = paper.ink};
    std::vector<Point> places;
    double x = side;
    int row = 0;
    for (const LegendEntry& entry : entries) {
        const double wide = canvas.text_width(entry.name.toStdString(), style) + 30;
        if (x > side && x + wide > view.width - side) x = side, ++row;
        places.push_back({x, row * row_height});
        x += wide;
    }
    const double height = (row + 1) * row_height + 6, top = view.height - height;
    canvas.rectangle({0, top, view.width, height}, paper.panel);
    canvas.line({0, top}, {view.width, top}, {paper.grid, 1});
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Point at{places[i].x, top + 3 + places[i].y};
        canvas.rectangle({at.x, at.y + 5.5, dot, dot}, entries[i].color, {}, dot / 2);
        canvas.text({at.x + 14, at.y + 14}, entries[i].name.toStdString(), style);
    }
    return height;
}

}  // namespace rematlas::explorer
