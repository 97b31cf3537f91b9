#include <set>

#include "core/base/sizes.h"
#include "core/graph/flat_graph.h"
#include "core/planning/solve.h"
#include "core/schedule/run_sequence.h"
#include "viz/paint/painters.h"
#include "viz/paint/sweep_curves.h"
#include "viz/paint/sweep_painter.h"

namespace rematlas {

namespace {

constexpr Size kSweepPage{1040, 560};
constexpr double kSweepLeft = 82, kSweepHeader = 70;

void sweep_header(Canvas& canvas, const SweepScene& scene) {
    TextStyle title{.size = 16, .bold = true};
    canvas.text({kSweepLeft, 36},
                fitted(canvas, "Memory against time: " + scene.sweep.graph, title, kSweepPage.width - 200),
                title);
    std::set<std::string> names;
    for (const SweepCurve& curve : scene.sweep.curves) names.insert(curve.solver);
    const std::size_t solvers = names.size();
    std::string about = std::to_string(solvers) + (solvers == 1 ? " solver" : " solvers");
    if (scene.keep_all) about += "   ·   without recomputation " + format_bytes(*scene.keep_all);
    if (scene.least) about += "   ·   no schedule fits below " + format_bytes(*scene.least);
    canvas.text({kSweepLeft, 56}, fitted(canvas, about, kNote, kSweepPage.width - kSweepLeft - 14), kNote);
}

SweepScene whole_sweep(const Sweep& sweep, const Graph* graph, double top, const palette::Paper& paper) {
    SweepScene scene{.sweep = sweep,
                     .rect = {0, top, kSweepPage.width, kSweepPage.height - kSweepHeader},
                     .legend_above = has_copies(sweep),  // names of curves with copies are long
                     .paper = paper};
    if (!graph) return scene;
    FlatGraph flat = flatten(*graph);
    scene.keep_all = keep_all_peak(flat);
    scene.least = least_needed({*graph, flat});
    for (const SweepCurve& curve : sweep.curves)
        scene.least = std::min(*scene.least, least_needed({*graph, flat, curve.copies}));
    return scene;
}

}  // namespace

Result<std::string> draw_sweep(const Sweep& sweep, const Graph* graph, PictureFormat format) {
    const SweepScene scene = whole_sweep(sweep, graph, kSweepHeader, palette::kLight);
    auto canvas = make_canvas(format, kSweepPage, sweep.graph);
    sweep_header(*canvas, scene);
    paint_sweep(*canvas, scene);
    return canvas->finish();
}

Result<std::string> sweep_in_page(const Sweep& sweep, const Graph* graph, const PageStyle& style) {
    const SweepScene scene = whole_sweep(sweep, graph, 0, style.paper);
    auto canvas = make_svg_canvas({kSweepPage.width, scene.rect.height}, "Memory against time",
                                  {.page = style.paper.page, .ids = style.ids});
    paint_sweep(*canvas, scene);
    return canvas->finish();
}

}  // namespace rematlas
