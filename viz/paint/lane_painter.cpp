#include "viz/paint/lane_painter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/sizes.h"
#include "viz/paint/path_names.h"
#include "viz/paint/shaded_columns.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kNarrow = ShadedColumns::kNarrow;  // points; stretches narrower than this are not drawn one
                                                    // by one but shade their columns
constexpr std::size_t kMostStretches = 32;
constexpr double kNamed = 14;  // points; narrower stretches have no room for a name

Color lane_color(const Paper& paper, DrawnLane lane, Phase phase) {
    if (lane == DrawnLane::recompute) return paper.of(Decision::recompute);
    if (lane == DrawnLane::to_host || lane == DrawnLane::to_device) return paper.of(Decision::offload);
    if (lane == DrawnLane::waiting) return paper.data(kGrey).mixed(paper.ink, 0.15);
    return paper.of(phase);
}

/// Neighbouring runs of one module in a lane, without a pause between them.
struct Stretch {
    double begin = 0, end = 0;
    std::vector<const LaneBar*> bars;
};

class LanePainter {
  public:
    LanePainter(Canvas& canvas, const ScheduleScene& scene, const Axis& x, int level)
        : canvas_(canvas), scene_(scene), x_(x), level_(level) {}

    void paint(DrawnLane lane, const Rect& rect) {
        rect_ = rect;
        columns_.emplace(rect, scene_.paper);
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
        columns_->paint(canvas_);
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
            columns_->cover(x(stretch_.begin), x(stretch_.end), color);
        else
            draw_stretch(color);
        stretch_.bars.clear();
    }

    void draw_stretch(const Color& color) {
        Rect box{x(stretch_.begin), rect_.y, x(stretch_.end) - x(stretch_.begin), rect_.height};
        canvas_.begin(tooltip());
        canvas_.rectangle(
            box, scene_.paper.pale(
                     color, box.width < kNamed ? ShadedColumns::page_part(scene_.paper) : scene_.paper.bar));
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

    /// Returns the module of the stretch. For a copy, or a wait for a copy of the same training
    /// step, returns the name of the tensor. For any other wait, returns an empty text.
    std::string_view module() const {
        if (const LaneBar& first = *stretch_.bars.front(); first.lane == DrawnLane::waiting) {
            const Step* copy = first.copy < 0 ? nullptr : &scene_.steps[static_cast<std::size_t>(first.copy)];
            return copy && !copy->names_op() ? scene_.graph.tensors[copy->tensor()].name : std::string_view();
        }
        const Step& step = scene_.steps[static_cast<std::size_t>(stretch_.bars.front()->step)];
        if (!step.names_op()) return scene_.graph.tensors[step.tensor()].name;
        return module_prefix(scene_.graph.ops[step.op()].module, level_);
    }

    /// Returns, for example, "waits for blocks.0.mlp.gelu".
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

    /// Paints marks on selected runs that are too narrow to be visible. A mark is wider than its run.
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
    std::optional<ShadedColumns> columns_;  ///< shades for stretches too narrow for boxes
};

}  // namespace

int module_level(const LaneData& data, const Axis& x) {
    constexpr int kDeepest = 12;
    std::array<std::size_t, kDeepest + 1> forward{}, backward{};  // for each k: the number of bars that share
                                                                  // exactly k leading parts of the module
                                                                  // path with the previous bar of the lane
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
        // Bars that share exactly `level` parts with the previous bar begin a new stretch one level deeper.
        stretches += bars[static_cast<std::size_t>(level)];
        if (stretches > kMostStretches) return level;
    }
    return kDeepest;
}

void paint_lane(Canvas& canvas, const ScheduleScene& scene, const Axis& x, int level, DrawnLane lane,
                const Rect& rect) {
    LanePainter(canvas, scene, x, level).paint(lane, rect);
}

void paint_ruler(Canvas& canvas, LaneAxis kind, const Axis& x, const Rect& ruler, double bottom,
                 const palette::Paper& paper, double text_size) {
    const TextStyle style{.size = text_size, .color = paper.quiet};
    double free_from = ruler.x;
    for (const Tick& tick : x.ticks) {
        const double left = x.at(tick.value);
        canvas.line({left, ruler.y + ruler.height - 5}, {left, bottom}, {paper.grid, 1});
        const std::string label = lane_label(kind, x, tick);
        const double width = canvas.text_width(label, style);
        if (left + 3 < free_from || left + 3 + width > ruler.x + ruler.width) continue;
        canvas.text({left + 3, ruler.y + ruler.height / 2 + style.size * 0.36}, label, style);
        free_from = left + width + 12;
    }
}

}  // namespace rematlas
