#include "viz/paint/compare_painter.h"

#include <algorithm>
#include <optional>

#include "core/base/sizes.h"
#include "viz/paint/lane_painter.h"
#include "viz/paint/memory_curve.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kNameRoom = 20, kBetweenSides = 6, kAboveMemory = 10, kAxisRoom = 24;

class ComparePainter {
  public:
    ComparePainter(Canvas& canvas, const CompareScene& scene)
        : canvas_(canvas), scene_(scene), paper_(scene.paper), places_(places_of(scene)) {}

    void paint() {
        grid();
        side(scene_.a, places_.a);
        side(scene_.b, places_.b);
        memory();
        cursor(scene_.a, places_.a, paper_.data(kBlue));
        cursor(scene_.b, places_.b, paper_.data(kVermilion));
    }

  private:
    double left() const { return places_.memory.x; }
    double right() const { return places_.memory.x + places_.memory.width; }
    double bottom() const { return places_.memory.y + places_.memory.height; }

    void grid() {
        canvas_.rectangle(places_.memory, paper_.panel);
        const TextStyle style{.size = scene_.text_size, .color = paper_.quiet, .align = Align::center};
        double free_from = -1e9;
        for (const Tick& tick : places_.x.ticks) {
            const double x = places_.x.at(tick.value);
            canvas_.line({x, places_.a.all.y + kNameRoom}, {x, bottom()}, {paper_.grid, 1});
            const std::string label = lane_label(scene_.a.data.axis, places_.x, tick);
            const double half = canvas_.text_width(label, style) / 2;
            if (x - half < free_from || x + half > scene_.rect.x + scene_.rect.width) continue;
            const double middle = std::max(x, left() - 4 + half);
            canvas_.text({middle, bottom() + style.size + 7}, label, style);
            free_from = middle + half + 8;
        }
    }

    void side(const ComparedSchedule& side, const ComparePlaces::Side& at) {
        const TextStyle bold{.size = scene_.text_size, .bold = true, .color = paper_.ink};
        canvas_.text({left(), at.all.y + kNameRoom - 6}, fitted(canvas_, side.title, bold, right() - left()),
                     bold);
        for (std::size_t i = 0; i < at.lanes.size(); ++i) {
            label(at.lanes[i], lane_name(side.data.lanes[i], side.data.queues));
            lane(side, side.data, side.data.lanes[i], at.lanes[i]);
        }
        label(at.alone, filled(say("Picture", "only in %1"), {side.name}));
        lane(side, side.alone, DrawnLane::recompute, at.alone);
    }

    void label(const Rect& lane, const std::string& text) {
        const TextStyle name{.size = scene_.text_size, .color = paper_.ink, .align = Align::right};
        canvas_.text({left() - 10, lane.y + lane.height / 2 + name.size * 0.36},
                     fitted(canvas_, text, name, scene_.names_width - 14), name);
    }

    void lane(const ComparedSchedule& side, const LaneData& data, DrawnLane lane, const Rect& rect) {
        const ScheduleScene scene{.graph = scene_.graph,
                                  .steps = side.steps,
                                  .data = data,
                                  .rect = rect,
                                  .text_size = scene_.text_size,
                                  .marked = scene_.marked,
                                  .paper = paper_};
        paint_lane(canvas_, scene, places_.x, module_level(side.data, places_.x), lane, rect);
    }

    void memory() {
        const TextStyle style{.size = scene_.text_size, .color = paper_.quiet, .align = Align::right};
        for (const Tick& tick : places_.y.ticks) {
            const double y = places_.y.at(tick.value);
            canvas_.line({left(), y}, {right(), y}, {paper_.grid, 1});
            if (tick.value > 0)
                canvas_.text({left() - 8, y + style.size * 0.35}, tick.label + " " + places_.y.unit, style);
        }
        canvas_.clip(places_.memory);
        curve(scene_.a, paper_.data(kBlue), true);
        curve(scene_.b, paper_.data(kVermilion), false);
        canvas_.unclip();
        const std::optional<Rect> name = peak(scene_.a, paper_.data(kBlue));
        peak(scene_.b, paper_.data(kVermilion), name);
        canvas_.line({left(), places_.memory.y}, {left(), bottom()}, {paper_.line, 1.2});
        canvas_.line({left(), bottom()}, {right(), bottom()}, {paper_.line, 1.2});
    }

    void curve(const ComparedSchedule& side, const Color& color, bool filled) {
        const LaneData& data = side.data;
        paint_curve(canvas_, side.title, staircase(data.memory, data.length, places_.x, places_.y), bottom(),
                    filled ? std::optional(paper_.pale(color, 0.75)) : std::nullopt,
                    {color, filled ? 1.0 : 1.3});
    }

    /// Paints the label of the peak beside the peak. `other` is the place of the label for the other
    /// schedule's peak; if the two labels would overlap, the new label is painted below `other`. Returns the
    /// place of the label, or nullopt if the peak is not shown.
    std::optional<Rect> peak(const ComparedSchedule& side, const Color& color,
                             const std::optional<Rect>& other = {}) {
        const LaneData& data = side.data;
        const double at = data.begin_of(data.peak_step);
        if (data.memory.empty() || at < places_.x.low || at > places_.x.high) return {};
        const Point top{places_.x.at(at), places_.y.at(static_cast<double>(data.peak))};
        const bool leftward = top.x > (left() + right()) / 2;
        const TextStyle style{.size = scene_.text_size, .bold = true, .color = paper_.text(color)};
        const std::string text = side.name + ": " + format_bytes(Bytes(data.peak));
        const double width = canvas_.text_width(text, style);
        Rect box{leftward ? top.x - 7 - width : top.x + 7, top.y - 3 - style.size, width, style.size + 3};
        const bool overlaps = other && box.x < other->x + other->width && other->x < box.x + box.width &&
                              box.y < other->y + other->height && other->y < box.y + box.height;
        if (overlaps) box.y = other->y + other->height + 1;
        canvas_.rectangle({top.x - 3, top.y - 3, 6, 6}, color, Pen{paper_.page, 1}, 3);
        canvas_.rectangle(box, paper_.panel.faded(0.85), {}, 2);
        canvas_.text({box.x, box.y + style.size}, text, style);
        return box;
    }

    void cursor(const ComparedSchedule& side, const ComparePlaces::Side& at, const Color& color) {
        if (side.cursor < 0 || side.cursor >= static_cast<int>(side.data.step_begin.size())) return;
        const double begin = side.data.begin_of(side.cursor);
        if (begin < places_.x.low || begin > places_.x.high) return;
        const double x = places_.x.at(begin);
        canvas_.line({x, at.all.y + kNameRoom}, {x, at.all.y + at.all.height}, {paper_.ink, 1.4});
        canvas_.line({x, places_.memory.y}, {x, bottom()}, {color, 1.2, {4, 3}});
    }

    Canvas& canvas_;
    const CompareScene& scene_;
    const Paper& paper_;
    ComparePlaces places_;
};

double side_height(const LaneData& data, const CompareScene& scene) {
    return kNameRoom + static_cast<double>(data.lanes.size() + 1) * (scene.lane_height + scene.lane_gap);
}

}  // namespace

double compare_height(const LaneData& a, const LaneData& b, const CompareScene& scene) {
    return side_height(a, scene) + kBetweenSides + side_height(b, scene) + kAboveMemory + kAxisRoom;
}

ComparePlaces places_of(const CompareScene& scene) {
    ComparePlaces places;
    const double left = scene.rect.x + scene.names_width;
    const double width = std::max(1.0, scene.rect.width - scene.names_width - scene.right_room);
    const double bottom = scene.rect.y + std::max(1.0, scene.rect.height - kAxisRoom);
    double y = scene.rect.y;
    const auto place = [&](const LaneData& data, bool alone_first) {
        ComparePlaces::Side side{.all = {left, y, width, side_height(data, scene)}, .lanes = {}, .alone = {}};
        double at = y + kNameRoom;
        const auto next = [&] {
            const Rect rect{left, at, width, scene.lane_height};
            at += scene.lane_height + scene.lane_gap;
            return rect;
        };
        // The runs that only one schedule has are in two lanes in the middle: one lane for each schedule, one
        // below the other.
        if (alone_first) side.alone = next();
        for (std::size_t i = 0; i < data.lanes.size(); ++i) side.lanes.push_back(next());
        if (!alone_first) side.alone = next();
        y += side.all.height;
        return side;
    };
    places.a = place(scene.a.data, false);
    y += kBetweenSides;
    places.b = place(scene.b.data, true);
    y = std::min(y + kAboveMemory, bottom - 1);
    places.memory = {left, y, width, bottom - y};
    const double length = std::max({scene.a.data.length, scene.b.data.length, 1e-6});
    places.x = lane_axis(scene.a.data.axis, scene.from, scene.to, length, left, width);
    const double highest = static_cast<double>(std::max(scene.a.data.peak, scene.b.data.peak));
    places.y = bytes_axis(0, highest * 1.12, bottom, places.memory.y,
                          std::clamp(static_cast<int>(places.memory.height / 40), 2, 7));
    return places;
}

LaneData bars_alone(const LaneData& data, const std::vector<int>& match) {
    LaneData alone;
    alone.axis = data.axis;
    alone.length = data.length;
    for (LaneBar bar : data.bars) {
        if (!is_of_runs(bar.lane) || match[static_cast<std::size_t>(bar.step)] >= 0) continue;
        bar.lane = DrawnLane::recompute;
        alone.bars.push_back(bar);
    }
    return alone;
}

void paint_comparison(Canvas& canvas, const CompareScene& scene) {
    ComparePainter(canvas, scene).paint();
}

}  // namespace rematlas
