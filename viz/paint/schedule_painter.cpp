#include "viz/paint/schedule_painter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/base/sizes.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kTopRoom = 4;         // the grid reaches a little above the lanes
constexpr double kLanesToMemory = 20;  // room for the notes above the memory
constexpr double kPlainAxis = 24, kTitledAxis = 62;
constexpr double kNarrow = 2;  // points; narrower stretches are shaded by coverage
constexpr int kShades = 12;
constexpr std::size_t kMostStretches = 32;

Color lane_color(Lane lane, Phase phase) {
    if (lane == Lane::recompute) return of(Decision::recompute);
    if (lane == Lane::to_host || lane == Lane::to_device) return of(Decision::offload);
    return of(phase);
}

/// The first `level` parts of a module path.
std::string_view module_prefix(std::string_view path, int level) {
    std::size_t end = 0;
    for (int i = 0; i < level; ++i) {
        end = path.find('.', i == 0 ? 0 : end + 1);
        if (end == std::string_view::npos) return path;
    }
    return path.substr(0, end);
}

/// A module path without as many of its first parts as it takes to fit; empty when not even the last does.
std::string_view last_parts(const TextRuler& ruler, std::string_view path, const TextStyle& style,
                            double width) {
    if (width < style.size) return {};
    while (ruler.text_width(path, style) > width) {
        std::size_t dot = path.find('.');
        if (dot == std::string_view::npos) return {};
        path.remove_prefix(dot + 1);
    }
    return path;
}

std::string_view operator_name(std::string_view name) {
    std::size_t colons = name.rfind("::");
    return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

/// The memory as a staircase; where many steps fall on half a point, only their extremes.
std::vector<Point> staircase(const LaneData& data, const Axis& x, const Axis& y) {
    std::vector<Point> points;
    double column = -1, lowest = 0, highest = 0, last = -1;
    auto add = [&](Point p) {
        if (points.empty() || !(points.back() == p)) points.push_back(p);
    };
    auto flush = [&] {
        if (column < 0) return;
        for (double value : {highest, lowest, last}) add({column, y.at(value)});
    };
    auto visit = [&](double at, double value) {
        double where = std::round(x.at(std::clamp(at, x.low, x.high)) * 2) / 2;
        if (where != column) {
            flush();
            if (column >= 0) add({where, y.at(last)});  // up to here the memory stayed what it was
            column = where;
            lowest = highest = value;
        }
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
        last = value;
    };
    auto point = std::upper_bound(data.memory.begin(), data.memory.end(), x.low,
                                  [](double at, const MemoryPoint& p) { return at < p.x; });
    if (point != data.memory.begin()) --point;
    for (; point != data.memory.end() && point->x <= x.high; ++point)
        visit(point->x, static_cast<double>(point->bytes));
    if (last >= 0 && data.length > x.low) visit(std::min(data.length, x.high), last);
    flush();
    return points;
}

Path path_through(const std::vector<Point>& points) {
    Path path;
    for (std::size_t i = 0; i < points.size(); ++i)
        i == 0 ? path.move_to(points[i]) : path.line_to(points[i]);
    return path;
}

/// Neighbours in a lane, of one module and without a pause between them.
struct Stretch {
    double begin = 0, end = 0;
    std::vector<const LaneBar*> bars;
};

/// How much of each column of a lane is taken, and in which colour.
struct Column {
    double covered = 0;
    Color color{0, 0, 0, 0};  ///< sum over the parts
};

class ScheduleLanePainter {
  public:
    ScheduleLanePainter(Canvas& canvas, const ScheduleScene& scene, const Axis& x, int level)
        : canvas_(canvas), scene_(scene), x_(x), level_(level) {}

    void paint(Lane lane, const Rect& rect) {
        rect_ = rect;
        columns_.assign(static_cast<std::size_t>(std::max(1.0, std::ceil(rect.width))), {});
        canvas_.rectangle(rect, scene_.paper.grid.faded(0.45), {}, 3);
        canvas_.clip(rect);
        std::vector<const LaneBar*> marked;
        for (const LaneBar& bar : scene_.data.bars) {
            if (bar.begin > x_.high) break;
            if (bar.lane != lane || bar.end < x_.low || bar.end <= bar.begin) continue;
            if (is_marked(bar)) marked.push_back(&bar);
            add(bar);
        }
        flush();
        shades();
        marks(marked);
        hover(lane);
        canvas_.unclip();
    }

  private:
    double x(double at) const { return x_.at(std::clamp(at, x_.low, x_.high)); }

    bool is_marked(const LaneBar& bar) const {
        const Step& step = scene_.steps[static_cast<std::size_t>(bar.step)];
        return scene_.marked && step.runs() && scene_.marked->contains(step.op()) &&
               (*scene_.marked)[step.op()];
    }

    void add(const LaneBar& bar) {
        bool joins = !stretch_.bars.empty() && stretch_.bars.back()->phase == bar.phase &&
                     bar.shared >= level_ && bar.begin <= stretch_.end &&
                     scene_.steps[static_cast<std::size_t>(bar.step)].runs();
        if (!joins) {
            flush();
            stretch_.begin = bar.begin;
        }
        stretch_.end = bar.end;
        stretch_.bars.push_back(&bar);
    }

    void flush() {
        if (stretch_.bars.empty()) return;
        const LaneBar& first = *stretch_.bars.front();
        Color color = lane_color(first.lane, first.phase);
        if (x(stretch_.end) - x(stretch_.begin) < kNarrow)
            cover(color);
        else
            draw_stretch(color);
        stretch_.bars.clear();
    }

    /// Adds the stretch to the columns it lies in.
    void cover(const Color& color) {
        double left = x(stretch_.begin) - rect_.x, right = x(stretch_.end) - rect_.x;
        for (auto i = static_cast<std::size_t>(std::max(0.0, left)); i < columns_.size(); ++i) {
            double part =
                std::min(right, static_cast<double>(i) + 1) - std::max(left, static_cast<double>(i));
            if (part <= 0) break;
            Column& column = columns_[i];
            column.covered += part;
            column.color.red += color.red * part;
            column.color.green += color.green * part;
            column.color.blue += color.blue * part;
        }
    }

    void draw_stretch(const Color& color) {
        Rect box{x(stretch_.begin), rect_.y, x(stretch_.end) - x(stretch_.begin), rect_.height};
        canvas_.begin(tooltip());
        canvas_.rectangle(box, scene_.paper.pale(color, kPale));
        double widest = 0;
        for (const LaneBar* bar : stretch_.bars) {
            double left = x(bar->begin), right = x(bar->end);
            widest = std::max(widest, right - left);
            if (right - left >= kNarrow && is_marked(*bar))
                canvas_.rectangle({left, box.y, right - left, box.height}, scene_.paper.mark);
            if (right - left > 3 && bar != stretch_.bars.back()) separator(right, 0.35);
        }
        if (box.width > 3) separator(box.x + box.width, 1);
        if (widest >= 64)
            operator_labels();
        else
            module_label(box);
        canvas_.end();
    }

    void separator(double at, double strength) {
        canvas_.rectangle({at - 0.8, rect_.y, 0.8, rect_.height}, scene_.paper.page.faded(strength));
    }

    std::string_view module() const {
        const Step& step = scene_.steps[static_cast<std::size_t>(stretch_.bars.front()->step)];
        if (!step.runs()) return scene_.graph.tensors[step.tensor()].name;
        return module_prefix(scene_.graph.ops[step.op()].module, level_);
    }

    std::string tooltip() const {
        std::string_view name = module();
        std::size_t steps = stretch_.bars.size();
        std::string text = std::string(name.empty() ? "model" : name) + ", " + std::to_string(steps) +
                           (steps == 1 ? " step" : " steps");
        if (scene_.data.axis == LaneAxis::time)
            text += ", " + format_duration(Nanoseconds(std::llround(stretch_.end - stretch_.begin)));
        return text;
    }

    TextStyle label_style() const {
        return {.size = scene_.text_size - 1, .color = scene_.paper.ink, .align = Align::center};
    }

    void label(double left, double right, std::string_view text) {
        if (text.empty()) return;
        canvas_.text({(left + right) / 2, rect_.y + rect_.height / 2 + scene_.text_size * 0.32}, text,
                     label_style());
    }

    void operator_labels() {
        for (const LaneBar* bar : stretch_.bars) {
            double left = x(bar->begin), right = x(bar->end);
            if (right - left < 30) continue;
            const Step& step = scene_.steps[static_cast<std::size_t>(bar->step)];
            std::string_view name = step.runs() ? operator_name(scene_.graph.ops[step.op()].name)
                                                : scene_.graph.tensors[step.tensor()].name;
            label(left, right, fitted(canvas_, name, label_style(), right - left - 8));
        }
    }

    void module_label(const Rect& box) {
        if (box.width < 14) return;
        label(box.x, box.x + box.width, last_parts(canvas_, module(), label_style(), box.width - 6));
    }

    /// Columns of one shade and colour are one rectangle.
    void shades() {
        std::size_t start = 0;
        for (std::size_t i = 0; i <= columns_.size(); ++i) {
            if (i < columns_.size() && i > start && same_shade(columns_[start], columns_[i])) continue;
            if (i > start && columns_[start].covered > 0) {
                Rect box{rect_.x + static_cast<double>(start), rect_.y, static_cast<double>(i - start),
                         rect_.height};
                canvas_.rectangle(box, shade(columns_[start]));
            }
            start = i;
        }
    }

    static int shade_of(const Column& column) {
        return static_cast<int>(std::ceil(std::min(column.covered, 1.0) * kShades - 1e-6));
    }
    static bool same_shade(const Column& a, const Column& b) {
        if (shade_of(a) != shade_of(b)) return false;
        if (shade_of(a) == 0) return true;
        auto far = [&](double x, double y) { return std::abs(x / a.covered - y / b.covered) > 0.02; };
        return !far(a.color.red, b.color.red) && !far(a.color.green, b.color.green) &&
               !far(a.color.blue, b.color.blue);
    }
    Color shade(const Column& column) const {
        double parts = column.covered;
        Color color{column.color.red / parts, column.color.green / parts, column.color.blue / parts, 1};
        return scene_.paper.pale(color, kPale).faded(static_cast<double>(shade_of(column)) / kShades);
    }

    /// Selected runs that are too narrow to be seen are drawn wider than they are.
    void marks(const std::vector<const LaneBar*>& bars) {
        double drawn_to = -1;
        for (const LaneBar* bar : bars) {
            double left = x(bar->begin), right = x(bar->end);
            if (right - left >= kNarrow) continue;
            double middle = (left + right) / 2;
            if (middle + 1 <= drawn_to) continue;
            canvas_.rectangle({middle - 1, rect_.y, kNarrow, rect_.height}, scene_.paper.mark);
            drawn_to = middle + 1.5;
        }
    }

    void hover(Lane lane) {
        if (scene_.hovered < 0) return;
        for (const LaneBar& bar : scene_.data.bars) {
            if (bar.step != scene_.hovered || bar.lane != lane) continue;
            double left = x(bar.begin), width = std::max(x(bar.end) - left, kNarrow);
            canvas_.rectangle({left, rect_.y + 0.6, width, rect_.height - 1.2}, {},
                              Pen{scene_.paper.ink, 1.2});
        }
    }

    static constexpr double kPale = 0.3;

    Canvas& canvas_;
    const ScheduleScene& scene_;
    const Axis& x_;
    int level_;
    Rect rect_;
    Stretch stretch_;
    std::vector<Column> columns_;
};

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
          tick_{.size = scene.text_size, .color = paper_.quiet},
          note_{.size = scene.text_size, .color = paper_.quiet} {}

    void paint() {
        grid();
        ScheduleLanePainter lanes(canvas_, scene_, places_.x, level());
        TextStyle name{.size = scene_.text_size + (scene_.axis_titles ? 1 : 0),
                       .color = paper_.ink,
                       .align = Align::right};
        for (std::size_t i = 0; i < places_.lanes.size(); ++i) {
            const Rect& rect = places_.lanes[i];
            canvas_.text({left_ - 10, rect.y + rect.height / 2 + name.size * 0.36},
                         lane_name(scene_.data.lanes[i]), name);
            lanes.paint(scene_.data.lanes[i], rect);
        }
        memory();
        cursor();
    }

  private:
    /// The deepest level of modules at which the forward pass, or where it is not shown the backward pass,
    /// has no more stretches than can be told apart.
    int level() const {
        constexpr int kDeepest = 12;
        std::array<std::size_t, kDeepest + 1> forward{}, backward{};  // bars, by parts shared
        for (const LaneBar& bar : scene_.data.bars) {
            if (bar.end < places_.x.low || bar.begin > places_.x.high) continue;
            auto shared = static_cast<std::size_t>(std::min(bar.shared, kDeepest));
            if (bar.lane == Lane::forward) ++forward[shared];
            if (bar.lane == Lane::backward) ++backward[shared];
        }
        bool any = std::any_of(forward.begin(), forward.end(), [](std::size_t n) { return n > 0; });
        const auto& bars = any ? forward : backward;
        std::size_t stretches = bars[0] + 1;
        for (int level = 1; level < kDeepest; ++level) {
            // What shares this many parts with its neighbour begins anew one level deeper.
            stretches += bars[static_cast<std::size_t>(level)];
            if (stretches > kMostStretches) return level;
        }
        return kDeepest;
    }

    void grid() {
        canvas_.rectangle(memory_, paper_.panel);
        TextStyle style = tick_;
        style.align = Align::center;
        double free_from = -1e9;
        for (const Tick& tick : places_.x.ticks) {
            double x = places_.x.at(tick.value);
            canvas_.line({x, places_.plot.y - kTopRoom}, {x, bottom_}, {paper_.grid, 1});
            canvas_.line({x, bottom_}, {x, bottom_ + 4}, {paper_.line, 1});
            std::string label = scene_.axis_titles ? tick.label : with_unit(tick.label, places_.x.unit);
            double half = canvas_.text_width(label, style) / 2;
            if (x - half < free_from || x + half > scene_.rect.x + scene_.rect.width) continue;
            // At the left edge it stays right of what is below the names.
            double middle = scene_.axis_titles ? x : std::max(x, left_ - 4 + half);
            canvas_.text({middle, bottom_ + style.size + 7}, label, style);
            free_from = middle + half + 8;
        }
        if (!scene_.axis_titles) return;
        TextStyle title{.size = scene_.text_size + 1, .color = paper_.ink, .align = Align::center};
        std::string name = scene_.data.axis == LaneAxis::time ? "time [" + places_.x.unit + "]" : "runs";
        canvas_.text({(left_ + right_) / 2, bottom_ + 42}, name, title);
    }

    std::string with_unit(const std::string& label, const std::string& unit) const {
        return scene_.data.axis == LaneAxis::steps ? "run " + label : label + " " + unit;
    }

    void memory() {
        TextStyle style = tick_;
        style.align = Align::right;
        for (const Tick& tick : places_.y.ticks) {
            double y = places_.y.at(tick.value);
            canvas_.line({left_, y}, {right_, y}, {paper_.grid, 1});
            if (!scene_.axis_titles && tick.value <= 0) continue;
            std::string label = scene_.axis_titles ? tick.label : tick.label + " " + places_.y.unit;
            canvas_.text({left_ - 8, y + style.size * 0.35}, label, style);
        }
        if (scene_.axis_titles) {
            TextStyle title{
                .size = scene_.text_size + 1, .color = paper_.ink, .align = Align::center, .upward = true};
            canvas_.text({scene_.rect.x + 26, memory_.y + memory_.height / 2},
                         "device memory [" + places_.y.unit + "]", title);
        }
        canvas_.clip({memory_.x, memory_.y - 1, memory_.width, memory_.height + 1});
        if (shows_plain()) plain_curve();
        curve();
        resident();
        canvas_.unclip();
        canvas_.line({left_, memory_.y}, {left_, bottom_}, {paper_.line, 1.2});
        canvas_.line({left_, bottom_}, {right_, bottom_}, {paper_.line, 1.2});
        if (scene_.budget.value > 0) budget();
        if (shows_plain()) plain_note();
        peak();
    }

    bool shows_plain() const {
        return scene_.plain && scene_.plain->axis == scene_.data.axis &&
               scene_.plain->peak > scene_.data.peak;
    }

    void curve() {
        std::vector<Point> points = staircase(scene_.data, places_.x, places_.y);
        if (points.empty()) return;
        Path area = path_through(points);
        area.line_to({points.back().x, bottom_}).line_to({points.front().x, bottom_}).close();
        canvas_.begin("device memory");
        canvas_.path(area, paper_.pale(kBlue, 0.55).faded(0.75), {});
        canvas_.path(path_through(points), {}, Pen{kBlue, 1.1});
        canvas_.end();
    }

    /// Behind, in grey: what recomputation saves is the room between the two curves.
    void plain_curve() {
        std::vector<Point> points = staircase(*scene_.plain, places_.x, places_.y);
        if (points.empty()) return;
        Path area = path_through(points);
        area.line_to({points.back().x, bottom_}).line_to({points.front().x, bottom_}).close();
        canvas_.begin("without recomputation");
        canvas_.path(area, paper_.pale(kGrey, 0.8), {});
        canvas_.path(path_through(points), {}, Pen{paper_.pale(kGrey, 0.25), 1});
        canvas_.end();
    }

    void plain_note() {
        const LaneData& plain = *scene_.plain;
        double at = plain.begin_of(plain.peak_step);
        if (at < places_.x.low || at > places_.x.high) return;
        Point top{places_.x.at(at), places_.y.at(static_cast<double>(plain.peak))};
        TextStyle style = note_;
        style.align = top.x < (left_ + right_) / 2 ? Align::left : Align::right;
        note({top.x + (style.align == Align::left ? 6 : -6), top.y - 5},
             "without recomputation: " + format_bytes(Bytes(plain.peak)), style);
    }

    void resident() {
        if (scene_.resident.value <= 0) return;
        double y = places_.y.at(static_cast<double>(scene_.resident.value));
        canvas_.rectangle({left_, y, right_ - left_, bottom_ - y}, paper_.pale(kGrey, 0.35));
        canvas_.line({left_, y}, {right_, y}, {kGrey.shade(0.3), 0.8});
        TextStyle style{.size = scene_.text_size, .color = paper_.ink};
        std::string text = "resident: parameters, buffers, inputs " + format_bytes(scene_.resident);
        if (bottom_ - y >= style.size + 4) canvas_.text({left_ + 8, y + style.size + 2}, text, style);
    }

    /// Text on a ground of its own, so that lines do not run through it.
    void note(Point at, const std::string& text, const TextStyle& style) {
        double width = canvas_.text_width(text, style);
        double left = style.align == Align::right ? at.x - width : at.x;
        canvas_.rectangle({left - 3, at.y - style.size, width + 6, style.size + 3}, paper_.panel.faded(0.85),
                          {}, 2);
        canvas_.text(at, text, style);
    }

    void budget() {
        double y = places_.y.at(static_cast<double>(scene_.budget.value));
        canvas_.line({left_, y}, {right_, y}, {paper_.budget, 1.2, {7, 4}});
        // On the side away from the peak, whose name is on the same height.
        bool left = peak_x() && *peak_x() > (left_ + right_) / 2;
        TextStyle style{.size = scene_.text_size,
                        .bold = true,
                        .color = paper_.budget,
                        .align = left ? Align::left : Align::right};
        note({left ? left_ + 8 : right_ - 8, y - 5}, budget_text(), style);
    }

    std::string budget_text() const { return "budget " + format_bytes(scene_.budget); }

    /// Nothing where the peak is not in what is shown.
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

    /// Where it is only as far as there is room.
    std::string peak_text(const TextStyle& style, double room) const {
        auto step = static_cast<std::size_t>(scene_.data.peak_step);
        std::string peak = "peak " + format_bytes(Bytes(scene_.data.peak)), place;
        if (scene_.steps[step].runs()) {
            const Op& op = scene_.graph.ops[scene_.steps[step].op()];
            place = " in " + (op.module.empty() ? op.name : op.module + " " + op.name);
        }
        std::string all = peak + place + ", step " + std::to_string(step + 1) + " of " +
                          std::to_string(scene_.steps.size());
        if (canvas_.text_width(all, style) <= room) return all;
        if (canvas_.text_width(peak, style) + 80 > room) return peak;
        return fitted(canvas_, peak + place, style, room, true);
    }

    void peak() {
        std::optional<double> at = peak_x();
        if (!at) return;
        Point p{*at, places_.y.at(static_cast<double>(scene_.data.peak))};
        double above = std::min(p.y, places_.y.at(static_cast<double>(scene_.budget.value)));
        if (p.y - above > 26) above = p.y;  // the budget is far away: stay with the peak
        bool left = p.x > (left_ + right_) / 2;
        Color color = kBlue.mixed(paper_.ink, 0.25);
        TextStyle style{.size = scene_.text_size,
                        .bold = true,
                        .color = color,
                        .align = left ? Align::right : Align::left};
        // The budget's name stands on the other side.
        double room = (left ? p.x - left_ : right_ - p.x) - 20;
        if (scene_.budget.value > 0 && left) room -= canvas_.text_width(budget_text(), style) + 16;
        std::string text = peak_text(style, std::min(room, (right_ - left_) * 0.5));
        canvas_.line({p.x, above - 12}, {p.x, p.y - 4}, {color, 1});
        canvas_.rectangle({p.x - 4, p.y - 4, 8, 8}, kBlue, Pen{paper_.page, 1.2}, 4);
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
        note({x + (style.align == Align::left ? 6 : -6), bottom_ - 6}, text, style);
    }

    Canvas& canvas_;
    const ScheduleScene& scene_;
    const Paper& paper_;
    SchedulePlaces places_;
    const Rect& memory_;
    double left_, right_, bottom_;
    TextStyle tick_, note_;
};

}  // namespace

std::string lane_name(Lane lane) {
    switch (lane) {
        case Lane::forward:
            return "forward";
        case Lane::recompute:
            return "recompute";
        case Lane::backward:
            return "backward";
        case Lane::to_host:
            return "copy to host";
        case Lane::to_device:
            return "copy back";
    }
    return "";
}

double schedule_height(const LaneData& data, double lane_height, double lane_gap, double memory_height,
                       bool axis_titles) {
    return kTopRoom + static_cast<double>(data.lanes.size()) * (lane_height + lane_gap) + kLanesToMemory +
           memory_height + (axis_titles ? kTitledAxis : kPlainAxis);
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
    places.memory = {places.plot.x, y, places.plot.width, bottom - y};

    double left = places.plot.x, right = left + places.plot.width;
    bool all_shown = scene.to <= scene.from;
    double from = all_shown ? 0 : scene.from, to = all_shown ? scene.data.length : scene.to;
    int count = std::max(2, static_cast<int>(places.plot.width / 105));
    places.x = scene.data.axis == LaneAxis::time ? time_axis(from, to, left, right, count)
                                                 : count_axis(from, to, "runs", left, right, count);
    std::int64_t highest =
        std::max({scene.data.peak, scene.budget.value, scene.plain ? scene.plain->peak : 0});
    // Headroom for the names of the peak and of the budget.
    places.y = bytes_axis(0, static_cast<double>(highest) * 1.12, bottom, places.memory.y,
                          std::clamp(static_cast<int>(places.memory.height / 40), 2, 7));
    return places;
}

void paint_schedule(Canvas& canvas, const ScheduleScene& scene) {
    SchedulePainter(canvas, scene).paint();
}

}  // namespace rematlas
