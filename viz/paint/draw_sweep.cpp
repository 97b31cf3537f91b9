#include "core/base/sizes.h"
#include "core/bounds/least_memory.h"
#include "core/graph/flat_graph.h"
#include "core/planning/solve.h"
#include "core/schedule/run_sequence.h"
#include "viz/paint/painters.h"
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
    std::size_t solvers = scene.sweep.curves.size();
    std::string about = std::to_string(solvers) + (solvers == 1 ? " solver" : " solvers");
    if (scene.keep_all) about += "   ·   without recomputation " + format_bytes(*scene.keep_all);
    if (scene.least) about += "   ·   no schedule fits below " + format_bytes(*scene.least);
    canvas.text({kSweepLeft, 56}, fitted(canvas, about, kNote, kSweepPage.width - kSweepLeft - 14), kNote);
}

}  // namespace

Result<std::string> draw_sweep(const Sweep& sweep, const Graph* graph, PictureFormat format) {
    SweepScene scene{.sweep = sweep,
                     .rect = {0, kSweepHeader, kSweepPage.width, kSweepPage.height - kSweepHeader}};
    if (graph) {
        FlatGraph flat = flatten(*graph);
        scene.keep_all = keep_all_peak(flat);
        scene.least = least_memory(flat).bytes;
    }
    auto canvas = make_canvas(format, kSweepPage, sweep.graph);
    sweep_header(*canvas, scene);
    paint_sweep(*canvas, scene);
    return canvas->finish();
}

}  // namespace rematlas
