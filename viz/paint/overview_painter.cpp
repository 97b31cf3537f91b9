#include "viz/paint/overview_painter.h"

#include <algorithm>

#include "viz/paint/axis.h"
#include "viz/paint/memory_curve.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kGripWidth = 4, kGripHeight = 14;

Axis whole_of(const OverviewScene& scene) {
    return {.low = 0,
            .high = std::max(scene.data.length, 1e-6),
            .start = scene.rect.x,
            .end = scene.rect.x + scene.rect.width,
            .ticks = {},
            .unit = {}};
}

void paint_grip(Canvas& canvas, const OverviewScene& scene, double x) {
    const double middle = scene.rect.y + scene.rect.height / 2;
    canvas.rectangle({x - kGripWidth / 2, middle - kGripHeight / 2, kGripWidth, kGripHeight},
                     scene.paper.page, Pen{scene.paper.quiet, 1}, 2);
}

}  // namespace

Rect window_of(const OverviewScene& scene) {
    const Axis x = whole_of(scene);
    const double left = x.at(std::clamp(scene.from, x.low, x.high));
    const double right = x.at(std::clamp(scene.to, x.low, x.high));
    return {left, scene.rect.y, std::max(1.0, right - left), scene.rect.height};
}

void paint_overview(Canvas& canvas, const OverviewScene& scene) {
    const Rect& rect = scene.rect;
    const double bottom = rect.y + rect.height;
    const Axis y{.low = 0,
                 .high = std::max(1.0, static_cast<double>(scene.data.peak) * 1.1),
                 .start = bottom,
                 .end = rect.y,
                 .ticks = {},
                 .unit = {}};
    const std::vector<Point> points = staircase(scene.data.memory, scene.data.length, whole_of(scene), y);
    canvas.rectangle(rect, scene.paper.panel, Pen{scene.paper.grid, 1}, 3);
    canvas.clip(rect);
    canvas.path(area_under(points, bottom), scene.paper.pale(scene.paper.data(kBlue), 0.6), {});
    const Rect window = window_of(scene);
    const Color veil = scene.paper.page.faded(0.7);
    canvas.rectangle({rect.x, rect.y, window.x - rect.x, rect.height}, veil);
    canvas.rectangle(
        {window.x + window.width, rect.y, rect.x + rect.width - window.x - window.width, rect.height}, veil);
    canvas.unclip();
    if (window.width >= rect.width - 1) return;  // the chosen part is everything, so it is not marked
    canvas.rectangle(window, {}, Pen{scene.paper.quiet, 1.2}, 2);
    paint_grip(canvas, scene, window.x);
    paint_grip(canvas, scene, window.x + window.width);
}

}  // namespace rematlas
