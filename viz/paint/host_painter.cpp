#include "viz/paint/host_painter.h"

#include <algorithm>

#include "core/base/sizes.h"
#include "viz/paint/memory_curve.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

using namespace palette;

class HostPainter {
  public:
    HostPainter(Canvas& canvas, const ScheduleScene& scene, const SchedulePlaces& places)
        : canvas_(canvas),
          scene_(scene),
          paper_(scene.paper),
          places_(places),
          left_(places.host.x),
          right_(places.host.x + places.host.width),
          bottom_(places.host.y + places.host.height) {}

    void paint() {
        for (const Tick& tick : places_.host_y.ticks) {
            const double y = places_.host_y.at(tick.value);
            canvas_.line({left_, y}, {right_, y}, {paper_.grid, 1});
        }
        curve();
        scale();
        if (scene_.host_budget) budget();
    }

  private:
    /// Paints the labels of the scale left of the plot. If something covers a label's place there
    /// (`corner_height`), the label is painted inside the plot, at its right edge.
    void scale() {
        const double covered = scene_.rect.y + scene_.rect.height - scene_.corner_height;
        TextStyle style{.size = scene_.text_size, .color = paper_.quiet, .align = Align::right};
        for (const Tick& tick : places_.host_y.ticks) {
            const double base = places_.host_y.at(tick.value) + style.size * 0.35;
            if (!scene_.axis_titles && tick.value <= 0) continue;
            const std::string label = tick.label + " " + places_.host_y.unit;
            if (base > covered)
                note({right_ - 6, base}, label, style);
            else
                canvas_.text({left_ - 8, base}, scene_.axis_titles ? tick.label : label, style);
        }
        if (!scene_.axis_titles) return;
        style = {.size = scene_.text_size + 1, .color = paper_.ink, .align = Align::center, .upward = true};
        canvas_.text({scene_.rect.x + 26, places_.host.y + places_.host.height / 2},
                     filled(say("Picture", "host [%1]"), {places_.host_y.unit}), style);
    }

    void curve() {
        const Rect& area = places_.host;
        const Color color = paper_.of(Decision::offload);
        canvas_.clip({area.x, area.y - 1, area.width, area.height + 1});
        paint_curve(canvas_, "host memory",
                    staircase(scene_.data.host, scene_.data.length, places_.x, places_.host_y), bottom_,
                    paper_.pale(color, 0.55).faded(0.75), {color, 1.1});
        canvas_.unclip();
        canvas_.line({left_, area.y}, {left_, bottom_}, {paper_.line, 1.2});
        canvas_.line({left_, bottom_}, {right_, bottom_}, {paper_.line, 1.2});
        const TextStyle style{.size = scene_.text_size, .bold = true, .color = paper_.text(color)};
        note({left_ + 8, area.y + style.size + 3},
             filled(say("Picture", "on the host: at most %1"), {format_bytes(Bytes(scene_.data.host_peak))}),
             style);
    }

    /// Paints the label of the budget. Also paints a line at the budget, unless the budget is above the plot.
    void budget() {
        const double at = places_.host_y.at(static_cast<double>(scene_.host_budget->value));
        const double y = std::max(at, places_.host.y);
        if (y == at) canvas_.line({left_, y}, {right_, y}, {paper_.budget, 1.2, {7, 4}});
        const TextStyle style{
            .size = scene_.text_size, .bold = true, .color = paper_.budget, .align = Align::right};
        note({right_ - 70, y + style.size + 3},
             filled(say("Picture", "budget %1"), {format_bytes(*scene_.host_budget)}), style);
    }

    /// Paints text on a background that covers the lines behind the text.
    void note(Point at, const std::string& text, const TextStyle& style) {
        write_on(canvas_, paper_.panel, at, text, style, 3);
    }

    Canvas& canvas_;
    const ScheduleScene& scene_;
    const Paper& paper_;
    const SchedulePlaces& places_;
    double left_, right_, bottom_;
};

}  // namespace

void paint_host(Canvas& canvas, const ScheduleScene& scene, const SchedulePlaces& places) {
    HostPainter(canvas, scene, places).paint();
}

}  // namespace rematlas
