#include "viz/paint/lane_painter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/base/sizes.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kNarrow = 2;  // points; narrower stretches are shaded by coverage
constexpr int kShades = 12;
constexpr std::size_t kMostStretches = 32;
constexpr double kNamed = 14;   // points; narrower ones have no room for a name
constexpr double kThin = 0.45;  // most part of the page in them: no name stands on them

Color lane_color(const Paper& paper, DrawnLane lane, Phase phase) {
    if (lane == DrawnLane::recompute) return paper.of(Decision::recompute);
    if (lane == DrawnLane::to_host || lane == DrawnLane::to_device) return paper.of(Decision::offload);
    if (lane == DrawnLane::waiting) return paper.data(kGrey).mixed(paper.ink, 0.15);
    return paper.of(phase);
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

bool begins_with_number(std::string_view path) {
    return path.substr(0, path.find('.')).find_first_not_of("0123456789") == std::string_view::npos;
}

/// A module path without as many of its first parts as it takes to fit; empty where nothing is left. What is
/// left begins with no number, which would say nothing: "2" may be `blocks.2` or `blocks.11.mlp.2`.
std::string_view last_parts(const TextRuler& ruler, std::string_view path, const TextStyle& style,
                            double width) {
    if (width < style.size) return {};
    for (bool is_cut = false; ruler.text_width(path, style) > width || (is_cut && begins_with_number(path));
         is_cut = true) {
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

class LanePainter {
  public:
    LanePainter(Canvas& canvas, const ScheduleScene& scene, const Axis& x, int level)
        : canvas_(canvas), scene_(scene), x_(x), level_(level) {}

    void paint(DrawnLane lane, const Rect& rect) {
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
        return scene_.marked && step.names_op() && scene_.marked->contains(step.op()) &&
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
        Color color = lane_color(scene_.paper, first.lane, first.phase);
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
        canvas_.rectangle(box, scene_.paper.pale(color, box.width < kNamed ? thin_part() : scene_.paper.bar));
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

    /// Of a wait, what it is for.
    std::string_view module() const {
        if (const LaneBar& first = *stretch_.bars.front(); first.lane == DrawnLane::waiting) {
            const Step* copy = first.copy < 0 ? nullptr : &scene_.steps[static_cast<std::size_t>(first.copy)];
            return copy && !copy->names_op() ? scene_.graph.tensors[copy->tensor()].name : std::string_view();
        }
        const Step& step = scene_.steps[static_cast<std::size_t>(stretch_.bars.front()->step)];
        if (!step.names_op()) return scene_.graph.tensors[step.tensor()].name;
        return module_prefix(scene_.graph.ops[step.op()].module, level_);
    }

    /// "waits for blocks.0.mlp.gelu"
    std::string waits_for() const {
        const int copy = stretch_.bars.front()->copy;
        if (copy < 0) return "waits for a copy of the step before";
        const Step& step = scene_.steps[static_cast<std::size_t>(copy)];
        return "waits for " + (step.names_op() ? scene_.graph.ops[step.op()].name
                                               : scene_.graph.tensors[step.tensor()].name);
    }

    std::string tooltip() const {
        if (stretch_.bars.front()->lane == DrawnLane::waiting)
            return waits_for() + ", " +
                   format_duration(Nanoseconds(std::llround(stretch_.end - stretch_.begin)));
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
            std::string_view name = step.names_op() ? operator_name(scene_.graph.ops[step.op()].name)
                                                    : scene_.graph.tensors[step.tensor()].name;
            label(left, right, fitted(canvas_, name, label_style(), right - left - 8));
        }
    }

    void module_label(const Rect& box) {
        if (box.width < kNamed) return;
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
    double thin_part() const { return std::min(scene_.paper.bar, kThin); }
    Color shade(const Column& column) const {
        double parts = column.covered;
        Color color{column.color.red / parts, column.color.green / parts, column.color.blue / parts, 1};
        return scene_.paper.pale(color, thin_part()).faded(static_cast<double>(shade_of(column)) / kShades);
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

    void hover(DrawnLane lane) {
        if (scene_.hovered < 0) return;
        for (const LaneBar& bar : scene_.data.bars) {
            if (bar.step != scene_.hovered || bar.lane != lane) continue;
            double left = x(bar.begin), width = std::max(x(bar.end) - left, kNarrow);
            canvas_.rectangle({left, rect_.y + 0.6, width, rect_.height - 1.2}, {},
                              Pen{scene_.paper.ink, 1.2});
        }
    }

    Canvas& canvas_;
    const ScheduleScene& scene_;
    const Axis& x_;
    int level_;
    Rect rect_;
    Stretch stretch_;
    std::vector<Column> columns_;
};

}  // namespace

int module_level(const LaneData& data, const Axis& x) {
    constexpr int kDeepest = 12;
    std::array<std::size_t, kDeepest + 1> forward{}, backward{};  // bars, by parts shared
    for (const LaneBar& bar : data.bars) {
        if (bar.end < x.low || bar.begin > x.high) continue;
        auto shared = static_cast<std::size_t>(std::min(bar.shared, kDeepest));
        if (bar.lane == DrawnLane::forward) ++forward[shared];
        if (bar.lane == DrawnLane::backward) ++backward[shared];
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

void paint_lane(Canvas& canvas, const ScheduleScene& scene, const Axis& x, int level, DrawnLane lane,
                const Rect& rect) {
    LanePainter(canvas, scene, x, level).paint(lane, rect);
}

}  // namespace rematlas
