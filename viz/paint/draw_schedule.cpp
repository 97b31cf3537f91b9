#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/sizes.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "viz/paint/axis.h"
#include "viz/paint/painters.h"
#include "viz/paint/palette.h"
#include "viz/paint/schedule_lanes.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kWidth = 1200;
constexpr double kLeft = 104;
constexpr double kRight = kWidth - 28;
constexpr double kLanesTop = 84;
constexpr double kLaneHeight = 30;
constexpr double kLaneGap = 6;
constexpr double kMemoryHeight = 330;

const TextStyle kLaneName{.size = 11, .color = kInk, .align = Align::right};

struct Lane {
    const char* name;
    std::vector<LaneKind> kinds;
};

Color color_of(LaneKind kind) {
    switch (kind) {
        case LaneKind::forward:
            return kSky;
        case LaneKind::loss:
            return kOrange;
        case LaneKind::backward:
            return kGreen;
        case LaneKind::optimizer:
            return kGrey;
        case LaneKind::recompute:
            return kVermilion;
        case LaneKind::to_host:
        case LaneKind::to_device:
            return kPurple;
    }
    return kGrey;
}

/// The lanes that have something in them; the first three always show, so that pictures can be compared.
std::vector<Lane> lanes_for(const std::vector<LaneSpan>& spans) {
    std::vector<Lane> lanes{{"forward", {LaneKind::forward, LaneKind::loss}},
                            {"backward", {LaneKind::backward, LaneKind::optimizer}},
                            {"recompute", {LaneKind::recompute}}};
    auto used = [&](LaneKind kind) {
        return std::any_of(spans.begin(), spans.end(), [&](const LaneSpan& s) { return s.kind == kind; });
    };
    if (used(LaneKind::to_host)) lanes.push_back({"copy to host", {LaneKind::to_host}});
    if (used(LaneKind::to_device)) lanes.push_back({"copy back", {LaneKind::to_device}});
    return lanes;
}

/// The memory as a staircase in time; where many steps fall on a quarter of a point, only their extremes.
std::vector<Point> staircase(const Simulation& simulation, const Axis& time, const Axis& memory) {
    std::vector<Point> points;
    double column = -1, lowest = 0, highest = 0, last = -1;
    auto flush = [&] {
        if (column < 0) return;
        for (double value : {highest, lowest, last})
            if (points.empty() || points.back().x != column || points.back().y != memory.at(value))
                points.push_back({column, memory.at(value)});
    };
    auto visit = [&](Nanoseconds at, Bytes bytes) {
        double x = std::round(time.at(static_cast<double>(at.value)) * 4) / 4,
               value = static_cast<double>(bytes.value);
        if (x != column) {
            flush();
            // Up to here the memory stayed what it was.
            if (column >= 0) points.push_back({x, memory.at(last)});
            column = x;
            lowest = highest = value;
        }
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
        last = value;
    };
    for (const StepTrace& step : simulation.steps) {
        // What lasts no time, such as the moment between a free and the next op, shows only where it rises.
        if (step.end == step.start && static_cast<double>(step.during.value) <= last) continue;
        visit(step.start, step.during);
        visit(step.end, step.during);
    }
    flush();
    return points;
}

Path path_through(const std::vector<Point>& points) {
    Path path;
    for (std::size_t i = 0; i < points.size(); ++i)
        i == 0 ? path.move_to(points[i]) : path.line_to(points[i]);
    return path;
}

/// One picture: header, lanes, and the memory below on the same time axis.
class SchedulePainter {
  public:
    SchedulePainter(const Graph& graph, const Schedule& schedule, const Simulation& simulation,
                    PictureFormat format)
        : graph_(graph),
          schedule_(schedule),
          simulation_(simulation),
          spans_(lane_spans(graph, schedule.steps, simulation)),
          lanes_(lanes_for(spans_)) {
        IdVector<TensorId, OpId> made_by = producers(graph);
        for (TensorId t : graph.tensors.ids())
            if (!made_by[t].valid()) resident_ += graph.tensors[t].bytes;
        simulate_without_recomputation();
        double top = kLanesTop + static_cast<double>(lanes_.size()) * (kLaneHeight + kLaneGap) + 26;
        memory_ = {kLeft, top, kRight - kLeft, kMemoryHeight};
        std::int64_t highest =
            std::max({simulation.peak.value, schedule.budget.value, plain_ ? plain_->peak.value : 0});
        // Headroom for the names of the peak and of the budget.
        y_ = bytes_axis(0, static_cast<double>(highest) * 1.12, memory_.y + memory_.height, memory_.y, 6);
        x_ = time_axis(simulation.time, kLeft, kRight, 10);
        canvas_ = make_canvas(format, {kWidth, memory_.y + memory_.height + 62}, graph.name);
    }

    Result<std::string> paint() {
        header();
        time_grid();
        for (std::size_t i = 0; i < lanes_.size(); ++i) lane(i);
        memory();
        return canvas_->finish();
    }

  private:
    void simulate_without_recomputation() {
        FlatGraph flat = flatten(graph_);
        auto plain = simulate(graph_, lower(flat, keep_all_sequence(flat)));
        if (plain && plain->peak > simulation_.peak) plain_ = plain.take();
    }

    void header() {
        TextStyle title{.size = 16, .bold = true};
        std::string name = graph_.name + ": " + (schedule_.solver.empty() ? "schedule" : schedule_.solver);
        if (schedule_.budget.value > 0) name += " with " + format_bytes(schedule_.budget);
        canvas_->text({kLeft, 36}, fitted(name, title, kRight - kLeft), title);
        std::size_t runs = 0;
        for (const Step& step : schedule_.steps) runs += step.runs() ? 1 : 0;
        std::int64_t base = 0;
        for (const Op& op : graph_.ops) base += op.time.value;
        std::string about = "peak " + format_bytes(simulation_.peak);
        if (plain_) about += " instead of " + format_bytes(plain_->peak);
        about += "   ·   time " + format_duration(simulation_.time);
        if (base > 0)
            about += ", " +
                     format_overhead(static_cast<double>(simulation_.time.value) / static_cast<double>(base));
        about += "   ·   " + std::to_string(runs) + " runs of " + std::to_string(graph_.ops.size()) + " ops";
        canvas_->text({kLeft, 58}, fitted(about, kNote, kRight - kLeft), kNote);
    }

    void time_grid() {
        double bottom = memory_.y + memory_.height;
        canvas_->rectangle(memory_, kPanel);
        TextStyle style = kTick;
        style.align = Align::center;
        for (const Tick& tick : x_.ticks) {
            double x = x_.at(tick.value);
            canvas_->line({x, kLanesTop - 4}, {x, bottom}, {kGrid, 1});
            canvas_->line({x, bottom}, {x, bottom + 4}, {kLine, 1});
            canvas_->text({x, bottom + 18}, tick.label, style);
        }
        TextStyle title{.size = 11, .align = Align::center};
        canvas_->text({(kLeft + kRight) / 2, bottom + 42}, "time [" + x_.unit + "]", title);
    }

    void lane(std::size_t i) {
        double y = kLanesTop + static_cast<double>(i) * (kLaneHeight + kLaneGap);
        canvas_->text({kLeft - 10, y + kLaneHeight / 2 + 4}, lanes_[i].name, kLaneName);
        canvas_->rectangle({kLeft, y, kRight - kLeft, kLaneHeight}, kGrid.faded(0.45), {}, 3);
        bool dark = false;
        std::string last;
        LaneSpan thin;  // neighbours too narrow to tell apart, drawn as one; none when it has no steps
        thin.steps = 0;
        for (const LaneSpan& s : spans_) {
            if (!belongs(s, lanes_[i]) || s.end <= s.start) continue;
            if (s.module != last) dark = !dark;
            last = s.module;
            bool narrow = x(s.end) - x(s.start) < 0.7;
            if (narrow && thin.steps > 0 && x(s.start) - x(thin.end) < 0.35) {
                thin.end = s.end;
                thin.steps += s.steps;
                continue;
            }
            if (thin.steps > 0) span(thin, y, false);
            thin.steps = 0;
            if (narrow)
                thin = s;
            else
                span(s, y, dark);
        }
        if (thin.steps > 0) span(thin, y, false);
    }

    static bool belongs(const LaneSpan& span, const Lane& lane) {
        return std::find(lane.kinds.begin(), lane.kinds.end(), span.kind) != lane.kinds.end();
    }

    double x(Nanoseconds t) const { return x_.at(static_cast<double>(t.value)); }

    /// A module path without as many of its first parts as it takes to fit; empty when not even the last one
    /// does.
    static std::string shortened(std::string path, const TextStyle& style, double width) {
        if (width < style.size) return "";
        while (text_width(path, style) > width) {
            std::size_t dot = path.find('.');
            if (dot == std::string::npos) return "";
            path.erase(0, dot + 1);
        }
        return path;
    }

    void span(const LaneSpan& span, double y, bool dark) {
        Color color = color_of(span.kind);
        Rect r{x(span.start), y, std::max(x(span.end) - x(span.start), 0.3), kLaneHeight};
        canvas_->begin((span.module.empty() ? std::string("model") : span.module) + ", " +
                       std::to_string(span.steps) + (span.steps == 1 ? " step, " : " steps, ") +
                       format_duration(span.end - span.start));
        canvas_->rectangle(r, color.tint(dark ? 0.12 : 0.34));
        TextStyle style{.size = 9, .color = kInk, .align = Align::center};
        std::string name = shortened(span.module, style, r.width - 6);
        if (!name.empty()) canvas_->text({r.x + r.width / 2, y + kLaneHeight / 2 + 3.2}, name, style);
        canvas_->end();
    }

    void memory() {
        double bottom = memory_.y + memory_.height;
        TextStyle style = kTick;
        style.align = Align::right;
        for (const Tick& tick : y_.ticks) {
            double y = y_.at(tick.value);
            canvas_->line({kLeft, y}, {kRight, y}, {kGrid, 1});
            canvas_->text({kLeft - 8, y + 3.5}, tick.label, style);
        }
        TextStyle title{.size = 11, .align = Align::center, .upward = true};
        canvas_->text({26, memory_.y + memory_.height / 2}, "device memory [" + y_.unit + "]", title);
        if (plain_) without_recomputation();
        curve();
        resident();
        canvas_->line({kLeft, memory_.y}, {kLeft, bottom}, {kLine, 1.2});
        canvas_->line({kLeft, bottom}, {kRight, bottom}, {kLine, 1.2});
        if (schedule_.budget.value > 0) budget();
        peak();
    }

    void curve() {
        std::vector<Point> points = staircase(simulation_, x_, y_);
        if (points.empty()) return;
        double bottom = memory_.y + memory_.height;
        Path area = path_through(points);
        area.line_to({points.back().x, bottom}).line_to({points.front().x, bottom}).close();
        canvas_->begin("device memory");
        canvas_->path(area, kBlue.tint(0.62), {});
        canvas_->path(path_through(points), {}, Pen{kBlue, 1.1});
        canvas_->end();
    }

    void resident() {
        if (resident_.value <= 0) return;
        double y = y_.at(static_cast<double>(resident_.value)), bottom = memory_.y + memory_.height;
        canvas_->rectangle({kLeft, y, kRight - kLeft, bottom - y}, kGrey.tint(0.35));
        canvas_->line({kLeft, y}, {kRight, y}, {kGrey.shade(0.3), 0.8});
        TextStyle style{.size = 10, .color = kInk};
        std::string text = "resident: parameters, buffers, inputs " + format_bytes(resident_);
        if (bottom - y >= 14) canvas_->text({kLeft + 8, y + 12}, text, style);
    }

    void without_recomputation() {
        std::vector<Point> points = staircase(*plain_, x_, y_);
        if (points.empty()) return;
        canvas_->begin("without recomputation");
        canvas_->path(path_through(points), {}, Pen{kQuiet.tint(0.25), 1, {4, 2.5}});
        canvas_->end();
        Point top = x_y_of_peak(*plain_);
        TextStyle style{
            .size = 10, .color = kQuiet, .align = top.x < (kLeft + kRight) / 2 ? Align::left : Align::right};
        canvas_->text({top.x + (style.align == Align::left ? 8 : -8), top.y - 6},
                      "without recomputation: " + format_bytes(plain_->peak), style);
    }

    /// Text on a ground of its own, so that lines do not run through it.
    void note(Point at, const std::string& text, const TextStyle& style) {
        double width = text_width(text, style);
        double left = style.align == Align::right ? at.x - width : at.x;
        canvas_->rectangle({left - 3, at.y - style.size, width + 6, style.size + 3}, kPanel.faded(0.85), {},
                           2);
        canvas_->text(at, text, style);
    }

    Point x_y_of_peak(const Simulation& simulation) const {
        const StepTrace& step = simulation.steps[simulation.peak_step];
        return {(x(step.start) + x(step.end)) / 2, y_.at(static_cast<double>(simulation.peak.value))};
    }

    void budget() {
        double y = y_.at(static_cast<double>(schedule_.budget.value));
        canvas_->line({kLeft, y}, {kRight, y}, {kInk, 1.2, {7, 4}});
        // On the side away from the peak, whose name is on the same height.
        bool left = !simulation_.steps.empty() && x_y_of_peak(simulation_).x > (kLeft + kRight) / 2;
        TextStyle style{.size = 10, .bold = true, .color = kInk, .align = left ? Align::left : Align::right};
        note({left ? kLeft + 8 : kRight - 8, y - 5}, "budget " + format_bytes(schedule_.budget), style);
    }

    void peak() {
        if (simulation_.steps.empty()) return;
        Point p = x_y_of_peak(simulation_);
        std::size_t step = simulation_.peak_step;
        std::string text = "peak " + format_bytes(simulation_.peak);
        if (schedule_.steps[step].runs()) {
            const Op& op = graph_.ops[schedule_.steps[step].op()];
            text += " in " + (op.module.empty() ? op.name : op.module + " " + op.name);
        }
        text += ", step " + std::to_string(step + 1) + " of " + std::to_string(schedule_.steps.size());
        double above = y_.at(std::max(static_cast<double>(simulation_.peak.value),
                                      static_cast<double>(schedule_.budget.value)));
        if (p.y - above > 26) above = p.y;  // the budget is far away: stay with the peak
        bool left = p.x > (kLeft + kRight) / 2;
        TextStyle style{.size = 10,
                        .bold = true,
                        .color = kVermilion.shade(0.15),
                        .align = left ? Align::right : Align::left};
        text = fitted(text, style, (kRight - kLeft) * 0.5, true);
        canvas_->line({p.x, above - 12}, {p.x, p.y - 4}, {kVermilion.shade(0.15), 1});
        canvas_->rectangle({p.x - 4, p.y - 4, 8, 8}, kVermilion, Pen{Color::hex(0xffffff), 1.2}, 4);
        note({p.x + (left ? -6 : 6), above - 7}, text, style);
    }

    const Graph& graph_;
    const Schedule& schedule_;
    const Simulation& simulation_;
    std::vector<LaneSpan> spans_;
    std::vector<Lane> lanes_;
    std::optional<Simulation> plain_;  ///< every op once, when that needs more memory
    Bytes resident_;
    Rect memory_;
    Axis x_, y_;
    std::unique_ptr<Canvas> canvas_;
};

}  // namespace

Result<std::string> draw_schedule(const Graph& graph, const Schedule& schedule, const Simulation& simulation,
                                  PictureFormat format) {
    return SchedulePainter(graph, schedule, simulation, format).paint();
}

}  // namespace rematlas
