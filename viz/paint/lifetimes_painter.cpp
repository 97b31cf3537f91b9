#include "viz/paint/lifetimes_painter.h"

#include <algorithm>
#include <cmath>

#include "core/base/sizes.h"
#include "viz/paint/lane_painter.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kLifeRuler = 22, kLifeRight = 10;
constexpr double kMarkReach = 5;    // points; a click hits a mark that is at most this far away
constexpr double kLeastBar = 2;     // points
constexpr double kMarkApart = 1.5;  // points; marks closer together are painted as one

class LifetimesPainter {
  public:
    LifetimesPainter(Canvas& canvas, const LifetimesScene& scene)
        : canvas_(canvas),
          scene_(scene),
          paper_(scene.paper),
          places_(places_of(scene)),
          text_{.size = scene.text_size, .color = paper_.ink},
          quiet_{.size = scene.text_size, .color = paper_.quiet} {}

    void paint() {
        grid();
        const auto first = static_cast<std::size_t>(std::max(0.0, scene_.scroll / scene_.row_height));
        const double bottom = places_.rows.y + places_.rows.height;
        canvas_.clip({scene_.rect.x, places_.rows.y, scene_.rect.width, places_.rows.height});
        for (std::size_t i = first; i < scene_.data.bars.size() && top_of(i) < bottom; ++i) row(i);
        if (scene_.data.more > 0) more();
        canvas_.unclip();
        cursor();
        heads();
    }

  private:
    double x(double at) const { return places_.x.at(std::clamp(at, places_.x.low, places_.x.high)); }
    double top_of(std::size_t row) const {
        return places_.rows.y + static_cast<double>(row) * scene_.row_height - scene_.scroll;
    }
    double baseline(double top) const { return top + scene_.row_height / 2 + scene_.text_size * 0.36; }

    void grid() {
        const Rect &ruler = places_.ruler, &rows = places_.rows;
        canvas_.rectangle({scene_.rect.x, ruler.y, scene_.rect.width, ruler.height}, paper_.panel);
        paint_ruler(canvas_, scene_.data.spans.axis, places_.x, ruler, rows.y + rows.height, paper_,
                    scene_.text_size);
    }

    void heads() {
        const double at = places_.ruler.y + places_.ruler.height / 2 + quiet_.size * 0.36;
        TextStyle style = quiet_;
        canvas_.text({places_.names.x + 8, at}, say("Picture", "tensor"), style);
        style.align = Align::right;
        canvas_.text({places_.names.x + places_.names.width - 8, at}, say("Picture", "bytes"), style);
    }

    void row(std::size_t index) {
        const LifetimeBar& bar = scene_.data.bars[index];
        const double top = top_of(index);
        if (static_cast<int>(index) == scene_.current)
            canvas_.rectangle({scene_.rect.x, top, scene_.rect.width, scene_.row_height},
                              paper_.mark.faded(0.28));
        names(bar, top);
        draw(bar, top);
    }

    void names(const LifetimeBar& bar, double top) {
        const Rect& at = places_.names;
        TextStyle right = text_;
        right.align = Align::right;
        const std::string bytes = format_bytes(bar.bytes);
        canvas_.text({at.x + at.width - 8, baseline(top)}, bytes, right);
        double room = at.width - 24 - canvas_.text_width(bytes, right);
        const double shape = bar.shape.empty() ? 0 : canvas_.text_width(bar.shape, quiet_) + 8;
        const bool has_shape = shape > 0 && shape + canvas_.text_width(bar.name, text_) <= room;
        if (has_shape) room -= shape;
        const std::string name = fitted(canvas_, bar.name, text_, room, true);
        canvas_.text({at.x + 8, baseline(top)}, name, text_);
        if (has_shape)
            canvas_.text({at.x + 16 + canvas_.text_width(name, text_), baseline(top)}, bar.shape, quiet_);
    }

    Color color_of(const LifetimeBar& bar) const {
        if (!bar.maker.valid()) return paper_.data(kGrey);
        return bar.again ? paper_.of(Decision::recompute) : paper_.of(bar.phase);
    }

    void draw(const LifetimeBar& bar, double top) {
        if (bar.end < places_.x.low || bar.begin > places_.x.high) return;
        const double left = x(bar.begin), width = std::max(kLeastBar, x(bar.end) - left);
        const Color color = color_of(bar);
        canvas_.begin(bar.name + ", " + format_bytes(bar.bytes));
        canvas_.rectangle({left, top + 3, width, scene_.row_height - 6}, paper_.pale(color, paper_.bar));
        idle(bar, top);
        if (bar.made >= 0 && bar.begin >= places_.x.low) maker(left, top, color);
        double drawn = -1e9;
        for (const int step : bar.reads) {
            const double at = scene_.data.spans.middle(step);
            if (at < places_.x.low || at > places_.x.high || x(at) - drawn < kMarkApart) continue;
            drawn = x(at);
            canvas_.rectangle({drawn - 0.7, top + 2, 1.4, scene_.row_height - 4}, paper_.ink);
        }
        canvas_.end();
    }

    /// Paints the idle stretch paler than the rest, and writes its name if there is room.
    void idle(const LifetimeBar& bar, double top) {
        const double left = x(bar.idle_begin), right = x(bar.idle_end);
        if (right - left < kLeastBar) return;
        canvas_.rectangle({left, top + 3.8, right - left, scene_.row_height - 7.6}, paper_.page.faded(0.62));
        const std::string words = filled(say("Picture", "idle %1"), {idle_text(scene_.data, bar)});
        TextStyle style = text_;
        style.align = Align::center;
        const double room = canvas_.text_width(words, style) + 10;
        if (room > right - left) return;
        // The name is in the longer of the two parts left and right of the cursor, if it fits there.
        // Otherwise it is in the middle of the stretch.
        const double cut = std::clamp(cursor_x(), left, right);
        double middle = (left + right) / 2;
        if (cut - left >= room) middle = (left + cut) / 2;
        if (right - cut >= std::max(room, cut - left)) middle = (cut + right) / 2;
        canvas_.text({middle, baseline(top)}, words, style);
    }

    void maker(double left, double top, const Color& color) {
        const double half = scene_.row_height / 2 - 2;
        canvas_.path(Path()
                         .move_to({left, top + 2})
                         .line_to({left + half, top + 2 + half})
                         .line_to({left, top + 2 + 2 * half})
                         .close(),
                     color.mixed(paper_.ink, 0.45), {});
    }

    void more() {
        const double top = top_of(scene_.data.bars.size());
        if (top > places_.rows.y + places_.rows.height) return;
        canvas_.text({places_.names.x + 8, baseline(top)},
                     filled(say("Picture", "%1 more, %2"),
                            {std::to_string(scene_.data.more), format_bytes(scene_.data.more_bytes)}),
                     quiet_);
    }

    /// Returns the place of the cursor, or the left edge if there is no cursor.
    double cursor_x() const {
        return scene_.data.step < 0 ? places_.rows.x
                                    : places_.x.at(scene_.data.spans.middle(scene_.data.step));
    }

    void cursor() {
        const double at = cursor_x();
        if (scene_.data.step < 0 || at < places_.x.start || at > places_.x.end) return;
        canvas_.line({at, places_.ruler.y}, {at, places_.rows.y + places_.rows.height}, {paper_.budget, 1.2});
    }

    Canvas& canvas_;
    const LifetimesScene& scene_;
    const Paper& paper_;
    LifetimesPlaces places_;
    TextStyle text_, quiet_;
};

}  // namespace

LifetimesPlaces places_of(const LifetimesScene& scene) {
    LifetimesPlaces places;
    const Rect& all = scene.rect;
    const double left = all.x + scene.names_width;
    const double width = std::max(1.0, all.width - scene.names_width - kLifeRight);
    const double top = all.y + kLifeRuler, height = std::max(0.0, all.height - kLifeRuler);
    places.names = {all.x, top, scene.names_width, height};
    places.ruler = {left, all.y, width, kLifeRuler};
    places.rows = {left, top, width, height};
    const StepSpans& spans = scene.data.spans;
    places.x = lane_axis(spans.axis, scene.from, scene.to, spans.length, left, width);
    return places;
}

int bar_at(const LifetimesScene& scene, Point at) {
    const LifetimesPlaces places = places_of(scene);
    if (at.y < places.rows.y || at.y > places.rows.y + places.rows.height) return -1;
    const int row = static_cast<int>((at.y - places.rows.y + scene.scroll) / scene.row_height);
    return row < static_cast<int>(scene.data.bars.size()) ? row : -1;
}

int mark_at(const LifetimesScene& scene, Point at) {
    const int row = bar_at(scene, at);
    const LifetimesPlaces places = places_of(scene);
    if (row < 0 || at.x < places.rows.x - kMarkReach) return -1;
    const LifetimeBar& bar = scene.data.bars[static_cast<std::size_t>(row)];
    double nearest = kMarkReach;
    int found = -1;
    const auto look_at = [&](int step, double place) {
        const double away = std::abs(places.x.at(place) - at.x);
        if (away >= nearest) return;
        nearest = away;
        found = step;
    };
    for (const int step : bar.reads) look_at(step, scene.data.spans.middle(step));
    if (bar.made >= 0) look_at(bar.made, bar.begin);
    return found;
}

void paint_lifetimes(Canvas& canvas, const LifetimesScene& scene) {
    LifetimesPainter(canvas, scene).paint();
}

double rows_height(const LifetimeBars& data, double row_height) {
    return static_cast<double>(data.bars.size() + (data.more > 0 ? 1 : 0)) * row_height;
}

std::string idle_text(const LifetimeBars& data, const LifetimeBar& bar) {
    if (data.spans.axis == LaneAxis::time) return format_duration(Nanoseconds(std::llround(bar.idle())));
    return filled(say("Picture", "%1 runs"), {std::to_string(std::llround(bar.idle()))});
}

}  // namespace rematlas
