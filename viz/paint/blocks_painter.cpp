#include "viz/paint/blocks_painter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "core/base/sizes.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kItemHeight = 40, kNarrowest = 92, kWidest = 280;
constexpr double kTextLeft = 14, kTextRight = 9;
constexpr double kBadgeRoom = 46;  // room for "×12" or "3 runs", kept even if a schedule shows neither
constexpr double kWidestTitle = 220;

// The smallest `BlockScene::detail` at which each element is shown.
constexpr double kShowRounded = 0.12, kShowShares = 0.2, kShowSheet = 0.25, kShowClusterTitle = 0.3,
                 kShowItemTitle = 0.35, kShowArrow = 0.4, kShowCaption = 0.5;

TextStyle title_style(const Paper& paper = kLight) {
    return {.size = 13, .color = paper.ink};
}
TextStyle small_style(const Paper& paper = kLight) {
    return {.size = 11, .color = paper.quiet};
}

std::string times(int count) {
    return "×" + std::to_string(count);
}

std::string cluster_title(const BlockViewCluster& cluster) {
    std::string title = numbered_block(cluster.label, cluster.path);
    return cluster.repeats > 1 ? title + "  " + times(cluster.repeats) : title;
}

std::string percentage(Bytes part, Bytes whole) {
    char text[16];
    std::snprintf(
        text, sizeof text, "%.0f %%",
        whole.value > 0 ? 100.0 * static_cast<double>(part.value) / static_cast<double>(whole.value) : 0);
    return text;
}

std::string shares_text(const DecisionShares& shares) {
    std::string text;
    for (auto [name, bytes] :
         {std::pair{"kept", shares.kept}, {"recomputed", shares.recomputed}, {"offloaded", shares.offloaded}})
        if (bytes.value > 0)
            text += (text.empty() ? "" : ", ") + percentage(bytes, shares.total()) + " " + name;
    return text;
}

bool overlap(const Rect& a, const Rect& b) {
    return a.x <= b.x + b.width && b.x <= a.x + a.width && a.y <= b.y + b.height && b.y <= a.y + a.height;
}

class BlocksPainter {
  public:
    BlocksPainter(Canvas& canvas, const BlockScene& scene)
        : canvas_(canvas),
          scene_(scene),
          paper_(scene.paper),
          heaviest_(heaviest_edge(scene.view)),
          decisions_(scene.with_schedule && scene.coloring == Coloring::decision) {}

    /// Paints all elements, from the back to the front.
    void paint() {
        for (std::size_t i = 0; i < scene_.view.clusters.size(); ++i) cluster(i);
        if (scene_.edges) {
            for (int i : *scene_.edges) edge(i);
        } else {
            for (int i : edges_by_weight(scene_.view)) edge(i);
        }
        if (scene_.detail >= kShowClusterTitle)
            for (std::size_t i = 0; i < scene_.view.clusters.size(); ++i) cluster_name(i);
        if (scene_.items) {
            for (int i : *scene_.items) item(i);
        } else {
            for (std::size_t i = 0; i < scene_.view.items.size(); ++i) item(static_cast<int>(i));
        }
    }

  private:
    Point place(Point p) const { return {p.x + scene_.origin.x, p.y + scene_.origin.y}; }
    Rect place(const Rect& r) const {
        return {r.x + scene_.origin.x, r.y + scene_.origin.y, r.width, r.height};
    }
    bool seen(const Rect& rect) const { return !scene_.part || overlap(rect, *scene_.part); }

    void cluster(std::size_t i) {
        if (!seen(scene_.layout.clusters[i])) return;
        const BlockViewCluster& cluster = scene_.view.clusters[i];
        bool marked = static_cast<int>(i) == scene_.marked_cluster;
        Color color = paper_.of(cluster.phase);
        canvas_.begin(cluster.path.empty() ? cluster.label : cluster.path);
        // Deeper frames are darker. The colours are opaque, because canvases differ in how they round
        // transparent colours.
        double page = std::pow(1 - 0.035, depth_of(i) + 1);
        canvas_.rectangle(place(scene_.layout.clusters[i]), paper_.pale(color, page),
                          Pen{marked ? paper_.mark : paper_.pale(color, 0.55), marked ? 2.5 : 1}, 6);
        canvas_.end();
    }

    int depth_of(std::size_t cluster) const {
        int depth = 0;
        for (int up = scene_.view.clusters[cluster].parent; up >= 0;
             up = scene_.view.clusters[static_cast<std::size_t>(up)].parent)
            ++depth;
        return depth;
    }

    /// Paints the title of a frame on a background that covers the edges behind the title.
    void cluster_name(std::size_t i) {
        if (!seen(scene_.layout.clusters[i])) return;
        Rect r = place(scene_.layout.clusters[i]);
        TextStyle style = small_style(paper_);
        std::string text = fitted(canvas_, cluster_title(scene_.view.clusters[i]), style, r.width - 18);
        if (text.empty()) return;
        canvas_.rectangle({r.x + 6, r.y + 3, canvas_.text_width(text, style) + 6, 15},
                          paper_.page.faded(0.75), {}, 3);
        canvas_.text({r.x + 9, r.y + 14.5}, text, style);
    }

    bool is_marked(int item) const {
        return scene_.marked && std::binary_search(scene_.marked->begin(), scene_.marked->end(), item);
    }

    /// Says whether the edge is marked because it touches a selected item. If many items are selected, no
    /// edge is marked.
    bool is_touched(const BlockViewEdge& edge) const {
        return scene_.marked && scene_.marked->size() <= 8 && (is_marked(edge.from) || is_marked(edge.to));
    }

    Pen pen_of(std::size_t index) const {
        const BlockViewEdge& edge = scene_.view.edges[index];
        Pen pen{paper_.line.mixed(paper_.ink, 0.1), edge_width(edge.bytes.total().value, heaviest_), {}};
        if (edge.role == EdgeRole::rung) {
            // A rung stands for saved tensors, so its colour shows the decision about these tensors.
            Decision decision = edge.bytes.largest();
            pen.color = (decisions_ ? paper_.of(decision) : paper_.data(kSky.shade(0.1))).faded(0.72);
            bool dashed = decisions_ && scene_.detail >= kShowClusterTitle;
            if (dashed && decision == Decision::recompute) pen.dash = {2.5 + 1.5 * pen.width, 2 + pen.width};
            if (dashed && decision == Decision::offload) pen.dash = {pen.width, 1.5 + pen.width};
        }
        if (is_touched(edge)) {
            pen.color = paper_.ink;
            pen.width = std::max(pen.width, 1.8);
        }
        if (scene_.marked_edge == static_cast<int>(index)) {
            pen.color = paper_.text(paper_.mark);
            pen.width += 1.5;
        }
        pen.width = std::max(pen.width, 0.7 / scene_.detail);  // keeps edges visible at small zoom
        return pen;
    }

    void edge(int index) {
        auto i = static_cast<std::size_t>(index);
        const BlockViewEdge& edge = scene_.view.edges[i];
        const std::vector<Point>& spline = scene_.layout.edges[i];
        if (spline.size() < 4) return;
        Pen pen = pen_of(i);
        canvas_.begin(tooltip_of(edge));
        if (scene_.detail < kShowRounded)
            straight(spline, pen);
        else if (scene_.detail < kShowArrow)
            curve(spline, place(spline.back()), pen);
        else
            arrow(spline, pen);
        canvas_.end();
    }

    /// Paints straight lines, which look like the curve when the zoom is small.
    void straight(const std::vector<Point>& spline, const Pen& pen) {
        Path path;
        path.move_to(place(spline[0]));
        for (std::size_t k = 3; k < spline.size(); k += 3) path.line_to(place(spline[k]));
        canvas_.path(path, {}, pen);
    }

    void curve(const std::vector<Point>& spline, Point end, const Pen& pen, bool straight_end = false) {
        Path path;
        path.move_to(place(spline[0]));
        for (std::size_t k = 1; k + 2 < spline.size(); k += 3) {
            bool last = k + 3 >= spline.size();
            path.curve_to(place(spline[k]), last && straight_end ? end : place(spline[k + 1]),
                          last ? end : place(spline[k + 2]));
        }
        canvas_.path(path, {}, pen);
    }

    void arrow(const std::vector<Point>& spline, const Pen& pen) {
        Point tip = place(spline.back()), before = place(spline[spline.size() - 2]);
        double length = std::hypot(tip.x - before.x, tip.y - before.y);
        double head = 4.5 + 1.4 * pen.width, half = 1.8 + 0.8 * pen.width;
        Point along =
            length > 0 ? Point{(tip.x - before.x) / length, (tip.y - before.y) / length} : Point{0, 1};
        Point neck{tip.x - along.x * head, tip.y - along.y * head};
        curve(spline, neck, pen, length < head);
        canvas_.path(Path()
                         .move_to(tip)
                         .line_to({neck.x - along.y * half, neck.y + along.x * half})
                         .line_to({neck.x + along.y * half, neck.y - along.x * half})
                         .close(),
                     pen.color, {});
    }

    std::string tooltip_of(const BlockViewEdge& edge) const {
        if (!tooltips()) return {};
        std::string text = scene_.view.items[static_cast<std::size_t>(edge.from)].label + " → " +
                           scene_.view.items[static_cast<std::size_t>(edge.to)].label + "\n" +
                           std::to_string(edge.tensors) + (edge.tensors == 1 ? " tensor, " : " tensors, ") +
                           format_bytes(edge.bytes.total());
        if (scene_.with_schedule && edge.bytes.total().value > 0) text += "\n" + shares_text(edge.bytes);
        return text;
    }

    std::string tooltip_of(const BlockViewItem& item) const {
        if (!tooltips()) return {};
        std::string text = item.path.empty() ? item.label : item.path;
        text += "\n" + std::string(to_string(item.phase)) + ", " + std::to_string(item.op_count) +
                (item.op_count == 1 ? " op, " : " ops, ") + format_duration(item.time) + "\nmakes " +
                format_bytes(item.made.total());
        if (!item.run.empty())
            text += "\n" + std::to_string(item.run.size()) + " equal blocks as one";
        else if (item.repeats > 1)
            text += "\n" + std::to_string(item.repeats) + " equal blocks";
        if (scene_.with_schedule)
            text += "\n" + std::to_string(item.runs) + " runs; " + shares_text(item.made);
        return text;
    }

    /// Says whether to make tooltips. Only windows paint parts of a layout, and windows do not use these
    /// tooltips.
    bool tooltips() const { return !scene_.part; }

    void item(int index) {
        auto i = static_cast<std::size_t>(index);
        if (!seen(scene_.layout.items[i])) return;
        const BlockViewItem& item = scene_.view.items[i];
        Rect r = place(scene_.layout.items[i]);
        const bool hot = scene_.coloring == Coloring::heat;
        Color color = hot ? heat_color((*scene_.heat)[i], paper_)
                          : item_color(item, scene_.with_schedule, scene_.coloring, paper_);
        canvas_.begin(tooltip_of(item));
        if (scene_.detail < kShowRounded) {
            canvas_.rectangle(r, paper_.pale(color, hot ? 0 : 0.25));
        } else {
            box(item, r, color);
            if (scene_.detail > kShowShares) shares(item, r, color);
            if (scene_.detail > kShowItemTitle) labels(item, r);
        }
        if (scene_.notes) note((*scene_.notes)[i], r);
        canvas_.end();
        bool marked = is_marked(index);
        if (marked || index == scene_.running)
            canvas_.rectangle({r.x - 2.5, r.y - 2.5, r.width + 5, r.height + 5}, {},
                              Pen{marked ? paper_.mark : paper_.ink, marked ? 3.0 : 2.0}, 7);
    }

    void note(const ItemNote& note, const Rect& r) {
        if (note.aside) canvas_.rectangle(r, paper_.page.faded(0.65), {}, 5);
        if (!note.pin || scene_.detail < kShowRounded) return;
        // Paints a pin in the corner of the item. The pin's head has the colour of the decision.
        const Color color =
            paper_.data(of(*note.pin == PinKind::keep ? Decision::keep : Decision::recompute));
        const Point head{r.x + 1, r.y + 1};
        canvas_.line(head, {head.x + 5, head.y + 9}, {paper_.ink, 1.4});
        canvas_.rectangle({head.x - 5, head.y - 5, 10, 10}, color, Pen{paper_.ink, 1.2}, 5);
    }

    void box(const BlockViewItem& item, const Rect& r, const Color& color) {
        // One sheet behind the item means that the item contains more. Three sheets mean that the item
        // represents several blocks.
        if (item.block.valid() && scene_.detail > kShowSheet)
            for (int sheet = item.run.empty() ? 1 : 3; sheet > 0; --sheet)
                canvas_.rectangle({r.x + 3 * sheet, r.y + 3 * sheet, r.width, r.height},
                                  paper_.pale(color, 0.9), Pen{paper_.pale(color, 0.5), 1}, 5);
        const double page = scene_.coloring == Coloring::heat ? 0.4 : 0.84;
        canvas_.rectangle(r, paper_.pale(color, page), Pen{paper_.pale(color, 0.25), 1.2}, 5);
    }

    /// Paints a bar at the left side with the shares of the item's bytes by decision.
    void shares(const BlockViewItem& item, const Rect& r, const Color& color) {
        Rect bar{r.x + 4, r.y + 5, 4, r.height - 10};
        if (!decisions_ || item.made.total().value == 0) {
            canvas_.rectangle(bar, color, {}, 2);
            return;
        }
        double y = bar.y;
        for (auto [decision, bytes] : {std::pair{Decision::keep, item.made.kept},
                                       {Decision::recompute, item.made.recomputed},
                                       {Decision::offload, item.made.offloaded}}) {
            double part =
                bar.height * static_cast<double>(bytes.value) / static_cast<double>(item.made.total().value);
            if (part > 0) canvas_.rectangle({bar.x, y, bar.width, part}, paper_.of(decision));
            y += part;
        }
    }

    void labels(const BlockViewItem& item, const Rect& r) {
        bool two_lines = scene_.detail > kShowCaption;
        double left = r.x + kTextLeft, room = r.width - kTextLeft - kTextRight;
        double upper = two_lines ? r.y + 0.42 * r.height : r.y + 0.5 * r.height + 4.5;
        bool rerun = item.op.valid() && item.runs > 1;
        std::string badge = rerun ? filled(say("Picture", "%1 runs"), {std::to_string(item.runs)})
                            : !item.run.empty() ? times(static_cast<int>(item.run.size()))
                            : item.block.valid() && item.repeats > 1 ? times(item.repeats)
                                                                     : "";
        if (!badge.empty()) {
            TextStyle style = small_style(paper_);
            style.align = Align::right;
            if (rerun) style.color = paper_.text(paper_.of(Decision::recompute));
            canvas_.text({r.x + r.width - kTextRight, upper}, badge, style);
            room -= canvas_.text_width(badge, style) + 8;
        }
        TextStyle style = title_style(paper_);
        canvas_.text({left, upper}, fitted(canvas_, item_title(item), style, room, true), style);
        if (!two_lines) return;
        TextStyle caption = small_style(paper_);
        canvas_.text({left, r.y + 0.8 * r.height},
                     fitted(canvas_, item_caption(item), caption, r.width - kTextLeft - kTextRight + 1),
                     caption);
    }

    Canvas& canvas_;
    const BlockScene& scene_;
    const Paper& paper_;
    std::int64_t heaviest_;
    bool decisions_;
};

}  // namespace

void paint_blocks(Canvas& canvas, const BlockScene& scene) {
    BlocksPainter(canvas, scene).paint();
}

std::vector<int> edges_by_weight(const BlockView& view) {
    std::vector<int> order(view.edges.size());
    std::iota(order.begin(), order.end(), 0);
    auto weight = [&](int i) { return view.edges[static_cast<std::size_t>(i)].bytes.total(); };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return weight(a) > weight(b); });
    return order;
}

std::int64_t heaviest_edge(const BlockView& view) {
    std::int64_t heaviest = 0;
    for (const BlockViewEdge& edge : view.edges) heaviest = std::max(heaviest, edge.bytes.total().value);
    return heaviest;
}

double edge_width(std::int64_t bytes, std::int64_t heaviest) {
    return heaviest <= 0 ? 0.8
                         : 0.7 + 3.8 * std::sqrt(static_cast<double>(bytes) / static_cast<double>(heaviest));
}

Color item_color(const BlockViewItem& item, bool with_schedule, Coloring coloring, const Paper& paper) {
    // There are no decisions about gradients, so gradients keep the colour of their phase.
    bool decided = with_schedule && coloring == Coloring::decision && item.phase == Phase::forward;
    return decided ? paper.of(item.made.largest()) : paper.of(item.phase);
}

Color heat_color(double heat, const Paper& paper) {
    if (heat < 0) return paper.grid;
    const double twice = 2 * std::min(heat, 1.0);
    const auto& [little, half, much] = paper.heat;
    return twice < 1 ? little.mixed(half, twice) : half.mixed(much, twice - 1);
}

std::string numbered_block(const std::string& name, const std::string& path) {
    bool number = !name.empty() && name.find_first_not_of("0123456789-") == std::string::npos;
    if (!number) return name;
    std::size_t last = path.rfind('.');
    const bool one = name.find('-') == std::string::npos;
    if (last == std::string::npos || last == 0)
        return filled(one ? say("Picture", "block %1") : say("Picture", "blocks %1"), {name});
    std::size_t first = path.rfind('.', last - 1);
    return path.substr(first == std::string::npos ? 0 : first + 1, last - (first + 1)) + "." + name;
}

std::string item_title(const BlockViewItem& item) {
    return item.op.valid() && !item.block.valid() ? item.label : numbered_block(item.label, item.path);
}

std::string item_caption(const BlockViewItem& item) {
    std::string text = format_bytes(item.made.total()) + " · " + format_duration(item.time);
    return item.op_count > 1
               ? filled(say("Picture", "%1 ops"), {std::to_string(item.op_count)}) + " · " + text
               : text;
}

std::vector<Size> item_sizes(const BlockView& view, const TextRuler& ruler) {
    std::vector<Size> sizes;
    for (const BlockViewItem& item : view.items) {
        double title = ruler.text_width(item_title(item), title_style()) + kBadgeRoom;
        double caption = ruler.text_width(item_caption(item), small_style());
        double width = std::ceil(std::max(title, caption)) + kTextLeft + kTextRight;
        sizes.push_back({std::clamp(width, kNarrowest, kWidest), kItemHeight});
    }
    return sizes;
}

std::vector<Size> title_sizes(const BlockView& view, const TextRuler& ruler) {
    std::vector<Size> sizes;
    for (const BlockViewCluster& cluster : view.clusters)
        sizes.push_back(
            {std::min(std::ceil(ruler.text_width(cluster_title(cluster), small_style())) + 14, kWidestTitle),
             18});
    return sizes;
}

}  // namespace rematlas
