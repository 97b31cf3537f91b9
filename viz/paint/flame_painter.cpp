#include "viz/paint/flame_painter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/sizes.h"
#include "viz/paint/lane_painter.h"
#include "viz/paint/path_names.h"
#include "viz/paint/shaded_columns.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kRulerHeight = 22;
constexpr double kRoomAtSides = 4;
constexpr double kBoxGap = 0.8;     // points between neighbouring boxes, and between rows
constexpr double kLeastNamed = 18;  // points; narrower boxes have no room for a name
constexpr double kLeastPart = 46;   // points; narrower boxes have no room for a shortened name

class FlamePainter {
  public:
    FlamePainter(Canvas& canvas, const FlameScene& scene)
        : canvas_(canvas), scene_(scene), paper_(scene.paper), places_(places_of(scene)) {
        if (!scene_.marked || scene_.marked->empty()) return;
        marked_before_.push_back(0);
        for (const FlameRun& run : scene_.data.runs)
            marked_before_.push_back(marked_before_.back() + ((*scene_.marked)[run.op] ? 1 : 0));
    }

    void paint() {
        ruler();
        canvas_.clip(places_.rows);
        for (int row = 0; row < places_.shown_levels; ++row) paint_row(row);
        for (const int box : {scene_.focused, scene_.hovered}) frame(box);
        canvas_.unclip();
        span();
        cursor();
    }

  private:
    double x(double at) const { return places_.x.at(std::clamp(at, places_.x.low, places_.x.high)); }

    void ruler() {
        const Rect& at = places_.ruler;
        canvas_.rectangle(at, paper_.panel);
        paint_ruler(canvas_, scene_.data.axis, places_.x, at, places_.rows.y + places_.rows.height, paper_,
                    scene_.text_size);
        canvas_.line({at.x, at.y + at.height}, {at.x + at.width, at.y + at.height}, {paper_.line, 1});
    }

    Rect row_at(int row) const {
        return {places_.rows.x, places_.rows.y + row * scene_.row_height, places_.rows.width,
                scene_.row_height - kBoxGap};
    }

    void paint_row(int row) {
        const FlameData& data = scene_.data;
        const std::vector<int>& boxes = data.levels[static_cast<std::size_t>(scene_.first_level + row)];
        const Rect at = row_at(row);
        ShadedColumns columns(at, paper_);
        std::vector<Rect> narrow_marks;
        auto next = std::lower_bound(boxes.begin(), boxes.end(), places_.x.low,
                                     [&](int box, double low) { return data.end_of(data.box(box)) < low; });
        for (; next != boxes.end(); ++next) {
            const FlameBox& box = data.box(*next);
            if (data.begin_of(box) > places_.x.high) break;
            const double left = x(data.begin_of(box)), right = x(data.end_of(box));
            if (right - left >= ShadedColumns::kNarrow) {
                draw(box, {left, at.y, right - left, at.height});
                continue;
            }
            columns.cover(left, right, color_of(box));
            if (is_marked(box)) add_mark(narrow_marks, {(left + right) / 2 - 1, at.y, 2, at.height});
        }
        columns.paint(canvas_);
        for (const Rect& mark : narrow_marks) canvas_.rectangle(mark, paper_.mark);
    }

    /// Adds the mark unless it begins less than a point to the right of the previous mark.
    static void add_mark(std::vector<Rect>& marks, const Rect& mark) {
        if (marks.empty() || mark.x >= marks.back().x + 1) marks.push_back(mark);
    }

    Color color_of(const FlameBox& box) const {
        const FlameRun& run = scene_.data.run(box.first);
        return run.again ? paper_.of(Decision::recompute) : paper_.of(scene_.graph.ops[run.op].phase);
    }

    /// Says whether all runs of the box are runs of selected ops.
    bool is_marked(const FlameBox& box) const {
        if (marked_before_.empty()) return false;
        const int marked = marked_before_[static_cast<std::size_t>(box.last) + 1] -
                           marked_before_[static_cast<std::size_t>(box.first)];
        return marked == box.last - box.first + 1;
    }

    static bool is_above_all(const FlameBox& box) { return box.parent < 0; }

    void draw(const FlameBox& box, Rect at) {
        const bool has_gap = at.width > 3;
        if (has_gap) at.width -= kBoxGap;
        // Modules are paler than ops and than the boxes without a box above them.
        const double page =
            is_above_all(box) || box.is_run ? paper_.bar : paper_.bar + (1 - paper_.bar) * 0.4;
        canvas_.begin(tooltip(box));
        canvas_.rectangle(at, is_marked(box) ? paper_.mark : paper_.pale(color_of(box), page));
        if (at.width >= kLeastNamed) write_name(box, at);
        canvas_.end();
    }

    /// Writes the whole name if it fits. Otherwise writes only the last part of a module's name, because the
    /// box above shows the other parts. If the last part does not fit either, leaves out letters, unless the
    /// box is too narrow for a shortened name.
    void write_name(const FlameBox& box, const Rect& at) {
        const TextStyle style{.size = scene_.text_size, .color = paper_.ink, .align = Align::center};
        const double room = at.width - 6;
        std::string name = flame_name(scene_.data, scene_.graph, box);
        const bool is_told_above = !box.is_run && box.level > 1 && !is_above_all(box);
        if (is_told_above && canvas_.text_width(name, style) > room) name.erase(0, name.rfind('.') + 1);
        if (room < kLeastPart && canvas_.text_width(name, style) > room) return;
        canvas_.text({at.x + at.width / 2, at.y + at.height / 2 + style.size * 0.36},
                     fitted(canvas_, name, style, room, !box.is_run), style);
    }

    std::string tooltip(const FlameBox& box) const {
        const FlameSums sums = scene_.data.sums(box.first, box.last);
        std::string text(module_of(scene_.data, scene_.graph, box));
        // The box above all runs on the host has no module of its own.
        if (is_above_all(box) && box.level > 0) text.clear();
        if (text.empty() || box.is_run || is_above_all(box))
            text += (text.empty() ? "" : " ") + flame_name(scene_.data, scene_.graph, box);
        text += ", " + format_duration(sums.time);
        if (!box.is_run) text += ", " + std::to_string(sums.runs) + (sums.runs == 1 ? " run" : " runs");
        return text + ", " + format_bytes(sums.made);
    }

    void frame(int box) {
        const Rect at = place_of(scene_, box);
        if (at.width <= 0) return;
        const double width = std::max(at.width, 2.0);
        canvas_.rectangle({at.x + 0.7, at.y + 0.7, std::max(1.0, width - 1.4), at.height - 1.4}, {},
                          Pen{paper_.ink, box == scene_.focused ? 1.8 : 1.2});
    }

    void span() {
        if (!scene_.span) return;
        const double left = x(scene_.span->first), right = x(scene_.span->second);
        const double top = places_.ruler.y, height = places_.rows.y + places_.rows.height - top;
        const Color color = paper_.data(kBlue);
        canvas_.rectangle({left, top, std::max(1.0, right - left), height}, color.faded(0.14));
        for (const double edge : {left, right}) canvas_.line({edge, top}, {edge, top + height}, {color, 1.2});
    }

    void cursor() {
        const int run = scene_.cursor < 0 ? -1 : scene_.data.run_of_step(scene_.cursor);
        if (run < 0) return;
        const double at = (scene_.data.run(run).begin + scene_.data.run(run).end) / 2;
        if (at < places_.x.low || at > places_.x.high) return;
        canvas_.line({x(at), places_.ruler.y}, {x(at), places_.rows.y + places_.rows.height},
                     {paper_.ink, 1});
    }

    Canvas& canvas_;
    const FlameScene& scene_;
    const Paper& paper_;
    FlamePlaces places_;
    std::vector<int> marked_before_;  ///< for each run: number of marked runs before it; empty if nothing is
                                      ///< selected
};

}  // namespace

FlamePlaces places_of(const FlameScene& scene) {
    FlamePlaces places;
    const Rect& all = scene.rect;
    const double width = std::max(1.0, all.width - 2 * kRoomAtSides), left = all.x + kRoomAtSides;
    places.ruler = {left, all.y, width, kRulerHeight};
    places.rows = {left, all.y + kRulerHeight + 2, width, std::max(0.0, all.height - kRulerHeight - 2)};
    places.x = lane_axis(scene.data.axis, scene.from, scene.to, scene.data.length, left, width);
    const int room = static_cast<int>(std::ceil(places.rows.height / scene.row_height - 1e-6));
    places.shown_levels = std::clamp(room, 0, static_cast<int>(scene.data.levels.size()) - scene.first_level);
    return places;
}

Rect place_of(const FlameScene& scene, int box) {
    if (box < 0 || box >= static_cast<int>(scene.data.boxes.size())) return {};
    const FlamePlaces places = places_of(scene);
    const FlameBox& of = scene.data.box(box);
    const double begin = scene.data.begin_of(of), end = scene.data.end_of(of);
    if (of.level < scene.first_level || of.level >= scene.first_level + places.shown_levels ||
        end < places.x.low || begin > places.x.high)
        return {};
    const double left = places.x.at(std::max(begin, places.x.low));
    const double right = places.x.at(std::min(end, places.x.high));
    return {left, places.rows.y + (of.level - scene.first_level) * scene.row_height,
            std::max(right - left, 0.5), scene.row_height - kBoxGap};
}

int box_at(const FlameScene& scene, Point at) {
    const FlamePlaces places = places_of(scene);
    const double down = at.y - places.rows.y, right = at.x - places.rows.x;
    if (down < 0 || right < 0 || right > places.rows.width || down > places.rows.height) return -1;
    const int row = static_cast<int>(down / scene.row_height);
    if (row >= places.shown_levels) return -1;
    return scene.data.box_at(scene.first_level + row, places.x.value_at(at.x));
}

void paint_flame(Canvas& canvas, const FlameScene& scene) {
    FlamePainter(canvas, scene).paint();
}

double flame_height(std::size_t levels, double row_height) {
    return kRulerHeight + 2 + static_cast<double>(levels) * row_height;
}

std::string flame_name(const FlameData& data, const Graph& graph, const FlameBox& box) {
    const FlameRun& run = data.run(box.first);
    const Op& op = graph.ops[run.op];
    if (run.on_host && !box.is_run) return lane_name(DrawnLane::on_host);
    if (box.level == 0) {
        if (run.again) return lane_name(DrawnLane::recompute);
        switch (op.phase) {
            case Phase::forward:
                return lane_name(DrawnLane::forward);
            case Phase::loss:
                return say("Picture", "loss");
            case Phase::backward:
                return lane_name(DrawnLane::backward);
            case Phase::optimizer:
                return say("Picture", "optimizer");
        }
    }
    const std::string_view path = std::string_view(op.module).substr(0, box.name_end);
    std::size_t begin = box.name_begin;
    // If the name would begin with a number, the part of the path before it is added: "blocks.3" tells more
    // than "3".
    if (begin >= 2 && begin < path.size() && begins_with_number(path.substr(begin))) {
        const std::size_t dot = path.rfind('.', begin - 2);
        begin = dot == std::string_view::npos ? 0 : dot + 1;
    }
    std::string name(path.substr(std::min(begin, path.size())));
    if (!box.is_run) return name;
    return (name.empty() ? "" : name + " ") + std::string(operator_name(op.name));
}

}  // namespace rematlas
