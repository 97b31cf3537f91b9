#include "viz/paint/schedule_painter.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/sizes.h"
#include "viz/paint/host_painter.h"
#include "viz/paint/lane_painter.h"
#include "viz/paint/layers_painter.h"
#include "viz/paint/memory_curve.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kTopRoom = 4;         // points by which the grid reaches above the lanes
constexpr double kLanesToMemory = 20;  // points between the lanes and the memory, for notes
constexpr double kPlainAxis = 24, kTitledAxis = 62;
constexpr double kMostAbove = 2.2;  // limit of the scale, as a multiple of the schedule's own peak
constexpr double kHostGap = 10;     // points between the memory of the device and the memory of the host
constexpr double kHostPart = 0.3;   // height of the host's memory / height of both memories together
constexpr double kLeastHost = 22;   // points of height; if there are fewer, the host's memory is not shown

class SchedulePainter {
  public:
    SchedulePainter(Canvas& canvas, const ScheduleScene& scene)
        : canvas_(canvas),
          scene_(scene),
          paper_(scene.paper),
          places_(places_of(scene)),
          memory_(places_.memory),
          left_(places_.plot.x),
          right_(places_.plot.x + places_.plot.width),
          bottom_(places_.plot.y + places_.plot.height),
          floor_(memory_.y + memory_.height),
          tick_{.size = scene.text_size, .color = paper_.quiet},
          note_{.size = scene.text_size, .color = paper_.quiet} {}

    void paint() {
        grid();
        const int modules = module_level(scene_.data, places_.x);
        TextStyle name{.size = scene_.text_size + (scene_.axis_titles ? 1 : 0),
                       .color = paper_.ink,
                       .align = Align::right};
        for (std::size_t i = 0; i < places_.lanes.size(); ++i) {
            const Rect& rect = places_.lanes[i];
            canvas_.text({left_ - 10, rect.y + rect.height / 2 + name.size * 0.36},
                         lane_name(scene_.data.lanes[i], scene_.data.queues), name);
            paint_lane(canvas_, scene_, places_.x, modules, scene_.data.lanes[i], rect);
        }
        memory();
        if (places_.host.height > 0) paint_host(canvas_, scene_, places_);
        cursor();
    }

  private:
    void grid() {
        canvas_.rectangle(memory_, paper_.panel);
        if (places_.host.height > 0) canvas_.rectangle(places_.host, paper_.panel);
        TextStyle style = tick_;
        style.align = Align::center;
        double free_from = -1e9;
        for (const Tick& tick : places_.x.ticks) {
            double x = places_.x.at(tick.value);
            canvas_.line({x, places_.plot.y - kTopRoom}, {x, bottom_}, {paper_.grid, 1});
            canvas_.line({x, bottom_}, {x, bottom_ + 4}, {paper_.line, 1});
            std::string label =
                scene_.axis_titles ? tick.label : lane_label(scene_.data.axis, places_.x, tick);
            double half = canvas_.text_width(label, style) / 2;
            if (x - half < free_from || x + half > scene_.rect.x + scene_.rect.width) continue;
            // At the left edge the label must not cover the text below the names.
            double middle = scene_.axis_titles ? x : std::max(x, left_ - 4 + half);
            canvas_.text({middle, bottom_ + style.size + 7}, label, style);
            free_from = middle + half + 8;
        }
        if (!scene_.axis_titles) return;
        TextStyle title{.size = scene_.text_size + 1, .color = paper_.ink, .align = Align::center};
        std::string name = scene_.data.axis == LaneAxis::time
                               ? filled(say("Picture", "time [%1]"), {places_.x.unit})
                               : say("Picture", "runs");
        canvas_.text({(left_ + right_) / 2, bottom_ + 42}, name, title);
    }

    void memory() {
        TextStyle style = tick_;
        style.align = Align::right;
        for (const Tick& tick : places_.y.ticks) {
            double y = places_.y.at(tick.value);
            canvas_.line({left_, y}, {right_, y}, {paper_.grid, 1});
            if (!scene_.axis_titles && tick.value <= 0) continue;
            std::string label = scene_.axis_titles ? tick.label : tick.label + " " + places_.y.unit;
            if (y + style.size * 0.35 > scene_.rect.y + scene_.rect.height - scene_.corner_height) continue;
            canvas_.text({left_ - 8, y + style.size * 0.35}, label, style);
        }
        if (scene_.axis_titles) {
            TextStyle title{
                .size = scene_.text_size + 1, .color = paper_.ink, .align = Align::center, .upward = true};
            canvas_.text({scene_.rect.x + 26, memory_.y + memory_.height / 2},
                         filled(say("Picture", "device memory [%1]"), {places_.y.unit}), title);
        }
        canvas_.clip({memory_.x, memory_.y - 1, memory_.width, memory_.height + 1});
        if (shows_plain()) plain_curve();
        if (scene_.stack) {
            paint_layers(canvas_, scene_, places_);
        } else {
            curve();
            resident();
        }
        canvas_.unclip();
        canvas_.line({left_, memory_.y}, {left_, floor_}, {paper_.line, 1.2});
        canvas_.line({left_, floor_}, {right_, floor_}, {paper_.line, 1.2});
        if (scene_.budget.value > 0) budget();
        if (scene_.evicted && !scene_.evicted->empty()) evictions();
        peak();
        if (shows_plain()) plain_note();
    }

    bool shows_plain() const {
        return scene_.plain && scene_.plain->axis == scene_.data.axis &&
               scene_.plain->peak > scene_.data.peak;
    }

    void curve() {
        paint_curve(canvas_, "device memory",
                    staircase(scene_.data.memory, scene_.data.length, places_.x, places_.y), floor_,
                    paper_.pale(paper_.data(kBlue), 0.55).faded(0.75), {paper_.data(kBlue), 1.1});
    }

    /// Paints the memory without recomputation in grey, behind everything else. The area between this curve
    /// and the schedule's own curve is the memory that the schedule saves.
    void plain_curve() {
        paint_curve(canvas_, "without recomputation",
                    staircase(scene_.plain->memory, scene_.plain->length, places_.x, places_.y), floor_,
                    paper_.pale(paper_.data(kGrey), 0.8), {paper_.pale(paper_.data(kGrey), 0.25), 1});
    }

    void plain_note() {
        const LaneData& plain = *scene_.plain;
        double at = plain.begin_of(plain.peak_step);
        if (at < places_.x.low || at > places_.x.high) return;
        const double x = places_.x.at(at), y = places_.y.at(static_cast<double>(plain.peak));
        const bool cut_off = y < memory_.y;
        TextStyle style = note_;
        style.align = x < (left_ + right_) / 2 ? Align::left : Align::right;
        note_beside({x + (style.align == Align::left ? 6 : -6), cut_off ? memory_.y + style.size + 4 : y - 5},
                    filled(cut_off ? say("Picture", "without recomputation: up to %1")
                                   : say("Picture", "without recomputation: %1"),
                           {format_bytes(Bytes(plain.peak))}),
                    style);
    }

    void resident() {
        if (scene_.resident.value <= 0) return;
        double y = places_.y.at(static_cast<double>(scene_.resident.value));
        canvas_.rectangle({left_, y, right_ - left_, floor_ - y},
                          paper_.pale(paper_.data(kGrey), paper_.bar));
        canvas_.line({left_, y}, {right_, y}, {kGrey.mixed(paper_.ink, 0.3), 0.8});
        TextStyle style{.size = scene_.text_size, .color = paper_.ink};
        std::string text = filled(say("Picture", "resident: parameters, buffers, inputs %1"),
                                  {format_bytes(scene_.resident)});
        if (floor_ - y >= style.size + 4) canvas_.text({left_ + 8, y + style.size + 2}, text, style);
    }

    /// Paints text on a background that covers the lines behind the text.
    void note(Point at, const std::string& text, const TextStyle& style) {
        notes_.push_back(place_behind(canvas_, at, text, style, 3));
        write_on(canvas_, paper_.panel, at, text, style, 3);
    }

    /// Paints a note, a little lower if it would overlap existing notes.
    void note_beside(Point at, const std::string& text, const TextStyle& style) {
        const auto crosses = [](const Rect& a, const Rect& b) {
            return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
        };
        for (int moved = 0; moved < 4; ++moved, at.y += style.size + 4) {
            const Rect place = place_behind(canvas_, at, text, style, 3);
            if (std::none_of(notes_.begin(), notes_.end(), [&](const Rect& n) { return crosses(n, place); }))
                return note(at, text, style);
        }
    }

    /// Marks the `free` steps of online eviction. Two marks are at least one point apart.
    void evictions() {
        constexpr double kHeight = 8;
        const Color color = paper_.of(Decision::recompute);
        canvas_.begin("evictions");
        double last = left_ - 1;
        for (const std::int32_t step : *scene_.evicted) {
            const double x = places_.x.at(scene_.data.begin_of(step));
            if (x < left_ || x > right_ || x - last < 1) continue;
            canvas_.line({x, memory_.y}, {x, memory_.y + kHeight}, {color, 1.2});
            last = x;
        }
        canvas_.end();
        const TextStyle style{.size = scene_.text_size, .color = paper_.text(color), .align = Align::right};
        canvas_.text({left_ - 8, memory_.y + kHeight}, say("Picture", "evictions"), style);
    }

    void budget() {
        double y = places_.y.at(static_cast<double>(scene_.budget.value));
        const bool cut_off = y < memory_.y;
        if (!cut_off) canvas_.line({left_, y}, {right_, y}, {paper_.budget, 1.2, {7, 4}});
        // The label is on the side away from the peak, because the label of the peak is at the same height.
        bool left = peak_x() && *peak_x() > (left_ + right_) / 2;
        TextStyle style{.size = scene_.text_size,
                        .bold = true,
                        .color = paper_.budget,
                        .align = left ? Align::left : Align::right};
        note({left ? left_ + 8 : right_ - 8, cut_off ? memory_.y + style.size + 4 : y - 5}, budget_text(),
             style);
    }

    std::string budget_text() const {
        return filled(say("Picture", "budget %1"), {format_bytes(scene_.budget)});
    }

    /// Returns the place of the peak, or nullopt if the peak is not in the shown part.
    std::optional<double> peak_x() const {
        const LaneData& data = scene_.data;
        if (data.step_begin.empty()) return {};
        auto step = static_cast<std::size_t>(data.peak_step);
        double begin = data.step_begin[step];
        double end = step + 1 < data.step_begin.size() ? data.step_begin[step + 1] : data.length;
        double at = (begin + end) / 2;
        if (at < places_.x.low || at > places_.x.high) return {};
        return places_.x.at(at);
    }

    /// Returns the text for the peak. Adds the op and the step of the peak if there is room.
    std::string peak_text(const TextStyle& style, double room) const {
        auto step = static_cast<std::size_t>(scene_.data.peak_step);
        std::string peak = filled(say("Picture", "peak %1"), {format_bytes(Bytes(scene_.data.peak))}),
                    placed = peak;
        if (scene_.steps[step].runs()) {
            const Op& op = scene_.graph.ops[scene_.steps[step].op()];
            placed = filled(say("Picture", "%1 in %2"),
                            {peak, op.module.empty() ? op.name : op.module + " " + op.name});
        }
        std::string all = filled(say("Picture", "%1, step %2"), {placed, std::to_string(step)});
        if (canvas_.text_width(all, style) <= room) return all;
        if (canvas_.text_width(peak, style) + 80 > room) return peak;
        return fitted(canvas_, placed, style, room, true);
    }

    void peak() {
        std::optional<double> at = peak_x();
        if (!at) return;
        Point p{*at, places_.y.at(static_cast<double>(scene_.data.peak))};
        double above = std::min(p.y, places_.y.at(static_cast<double>(scene_.budget.value)));
        if (p.y - above > 26) above = p.y;  // the budget is far away, so the label stays at the peak
        bool left = p.x > (left_ + right_) / 2;
        Color color = paper_.text(paper_.data(kBlue));
        TextStyle style{.size = scene_.text_size,
                        .bold = true,
                        .color = color,
                        .align = left ? Align::right : Align::left};
        // The text extends from the peak to the side that has more room. The label of the budget is at the
        // end of that side.
        double room = (left ? p.x - left_ : right_ - p.x) - 20;
        if (scene_.budget.value > 0) room -= canvas_.text_width(budget_text(), style) + 16;
        std::string text = peak_text(style, std::min(room, (right_ - left_) * 0.5));
        const double width = canvas_.text_width(text, style),
                     other_room = (left ? right_ - p.x : p.x - left_) - 20;
        if (width > room && width <= other_room) {  // the text would overlap the label of the budget
            left = !left;
            style.align = left ? Align::right : Align::left;
        }
        canvas_.line({p.x, above - 12}, {p.x, p.y - 4}, {color, 1});
        canvas_.rectangle({p.x - 4, p.y - 4, 8, 8}, paper_.data(kBlue), Pen{paper_.page, 1.2}, 4);
        note({p.x + (left ? -6 : 6), above - 7}, text, style);
    }

    void cursor() {
        const LaneData& data = scene_.data;
        if (scene_.cursor < 0 || scene_.cursor >= static_cast<int>(data.step_begin.size())) return;
        double at = data.begin_of(scene_.cursor);
        if (at < places_.x.low || at > places_.x.high) return;
        double x = places_.x.at(at);
        canvas_.line({x, places_.plot.y - kTopRoom}, {x, bottom_}, {paper_.ink, 1.4});
        auto held = std::upper_bound(data.memory.begin(), data.memory.end(), at,
                                     [](double a, const MemoryPoint& p) { return a < p.x; });
        if (held == data.memory.begin()) return;
        TextStyle style{.size = scene_.text_size, .color = paper_.ink};
        std::string text = format_bytes(Bytes(std::prev(held)->bytes));
        if (x + 6 + canvas_.text_width(text, style) > right_) style.align = Align::right;
        note({x + (style.align == Align::left ? 6 : -6), floor_ - 6}, text, style);
        if (places_.host.height > 0)
            note({x + (style.align == Align::left ? 6 : -6), bottom_ - 6}, format_bytes(data.host_at(at)),
                 style);
    }

    Canvas& canvas_;
    const ScheduleScene& scene_;
    const Paper& paper_;
    SchedulePlaces places_;
    const Rect& memory_;
    double left_, right_, bottom_;
    double floor_;  ///< bottom of the device's memory
    TextStyle tick_, note_;
    std::vector<Rect> notes_;  ///< places of the notes
};

}  // namespace

std::string lane_name(DrawnLane lane, const std::vector<std::string>& queues) {
    switch (lane) {
        case DrawnLane::forward:
            return say("Picture", "forward");
        case DrawnLane::recompute:
            return say("Picture", "recompute");
        case DrawnLane::backward:
            return say("Picture", "backward");
        case DrawnLane::waiting:
            return say("Picture", "waiting");
        case DrawnLane::to_host:
            return say("Picture", "copy to host");
        case DrawnLane::to_device:
            return say("Picture", "copy back");
        case DrawnLane::on_host:
            return say("Picture", "on the host");
        case DrawnLane::first_queue:
            break;
    }
    const auto queue = static_cast<std::size_t>(lane) - static_cast<std::size_t>(DrawnLane::first_queue);
    return filled(say("Picture", "queue %1"), {queues.at(queue)});
}

double schedule_height(const LaneData& data, double lane_height, double lane_gap, double memory_height,
                       bool axis_titles) {
    const double host = data.host.empty() ? 0 : kHostGap + memory_height * kHostPart / (1 - kHostPart);
    return kTopRoom + static_cast<double>(data.lanes.size()) * (lane_height + lane_gap) + kLanesToMemory +
           memory_height + host + (axis_titles ? kTitledAxis : kPlainAxis);
}

SchedulePlaces places_of(const ScheduleScene& scene) {
    SchedulePlaces places;
    const Rect& all = scene.rect;
    double axis = scene.axis_titles ? kTitledAxis : kPlainAxis;
    places.plot = {all.x + scene.names_width, all.y + kTopRoom,
                   std::max(1.0, all.width - scene.names_width - scene.right_room),
                   std::max(1.0, all.height - kTopRoom - axis)};
    double y = places.plot.y, bottom = places.plot.y + places.plot.height;
    for (std::size_t i = 0; i < scene.data.lanes.size(); ++i, y += scene.lane_height + scene.lane_gap)
        places.lanes.push_back({places.plot.x, y, places.plot.width, scene.lane_height});
    y = std::min(y + kLanesToMemory, bottom - 1);
    const double host = (bottom - y - kHostGap) * kHostPart;
    const bool shows_host = !scene.data.host.empty() && host >= kLeastHost;
    places.memory = {places.plot.x, y, places.plot.width, bottom - y - (shows_host ? host + kHostGap : 0)};
    if (shows_host) places.host = {places.plot.x, bottom - host, places.plot.width, host};

    places.x =
        lane_axis(scene.data.axis, scene.from, scene.to, scene.data.length, places.plot.x, places.plot.width);
    // The scale has headroom for the labels of the peak and of the budget. The peak without recomputation, or
    // the budget of a large card, can be so high that the schedule's own curve would look flat. Then the part
    // above the limit of the scale is cut off.
    const double own = static_cast<double>(scene.data.peak);
    const double plain = scene.plain ? static_cast<double>(scene.plain->peak) : 0;
    const double above = std::max(plain, static_cast<double>(scene.budget.value));
    places.y =
        bytes_axis(0, std::clamp(above, own, own * kMostAbove) * 1.12, places.memory.y + places.memory.height,
                   places.memory.y, std::clamp(static_cast<int>(places.memory.height / 40), 2, 7));
    const double most = static_cast<double>(scene.data.host_peak),
                 allowed = static_cast<double>(scene.host_budget.value_or(Bytes(0)).value);
    if (shows_host)
        places.host_y =
            bytes_axis(0, std::clamp(allowed, most, most * kMostAbove) * 1.12, bottom, places.host.y,
                       std::clamp(static_cast<int>(places.host.height / 40), 2, 4));
    return places;
}

void paint_schedule(Canvas& canvas, const ScheduleScene& scene) {
    SchedulePainter(canvas, scene).paint();
}

}  // namespace rematlas
