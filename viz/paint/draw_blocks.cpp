#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "core/base/sizes.h"
#include "viz/paint/axis.h"
#include "viz/paint/painters.h"
#include "viz/paint/palette.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kMargin = 24;
constexpr double kItemHeight = 36;
constexpr double kWidestLabel = 170;
constexpr double kHeader = 92;

const TextStyle kLabel{.size = 10, .bold = true, .color = kInk};
const TextStyle kFigures{.size = 8.5, .color = kQuiet};
const TextStyle kTitle{.size = 9, .bold = true, .color = kQuiet};
const TextStyle kLegend{.size = 9.5, .color = kInk};

std::string times(int count) {
    return "×" + std::to_string(count);
}

std::string label_of(const BlockViewItem& item) {
    return fitted(picture_ruler(), item.label, kLabel, kWidestLabel, true);
}

std::string figures_of(const BlockViewItem& item) {
    std::string text = format_bytes(item.made.total()) + " · " + format_duration(item.time);
    return item.op_count > 1 ? std::to_string(item.op_count) + " ops · " + text : text;
}

std::string title_of(const BlockViewCluster& cluster) {
    std::string title = fitted(picture_ruler(), cluster.label, kTitle, kWidestLabel, true);
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

std::string tooltip_of(const BlockViewItem& item, bool with_schedule) {
    std::string text = item.path.empty() ? item.label : item.path;
    text += "\n" + std::string(to_string(item.phase)) + ", " + std::to_string(item.op_count) +
            (item.op_count == 1 ? " op, " : " ops, ") + format_duration(item.time) + "\nmakes " +
            format_bytes(item.made.total());
    if (item.repeats > 1) text += "\n" + std::to_string(item.repeats) + " equal blocks";
    if (with_schedule) text += "\n" + std::to_string(item.runs) + " runs; " + shares_text(item.made);
    return text;
}

/// Draws one picture; members are what its parts share.
class BlockPainter {
  public:
    BlockPainter(const BlockPicture& picture, PictureFormat format) : picture_(picture) {
        for (const BlockViewEdge& edge : picture.view.edges)
            heaviest_ = std::max(heaviest_, edge.bytes.total().value);
        width_ = std::max(picture.layout.size.width, 640.0) + 2 * kMargin;
        left_ = (width_ - picture.layout.size.width) / 2;
        canvas_ = make_canvas(format, {width_, picture.layout.size.height + kHeader + 2 * kMargin},
                              picture.graph.name);
    }

    Result<std::string> paint() {
        header();
        for (std::size_t i = 0; i < picture_.view.clusters.size(); ++i) cluster(i);
        for (std::size_t i : edges_by_weight()) edge(i);
        for (std::size_t i = 0; i < picture_.view.clusters.size(); ++i) title(i);
        for (std::size_t i = 0; i < picture_.view.items.size(); ++i) item(i);
        return canvas_->finish();
    }

  private:
    Point place(Point p) const { return {p.x + left_, p.y + kMargin + kHeader}; }
    Rect place(const Rect& r) const { return {r.x + left_, r.y + kMargin + kHeader, r.width, r.height}; }

    void header() {
        const Graph& graph = picture_.graph;
        double room = width_ - 2 * kMargin;
        TextStyle title{.size = 16, .bold = true};
        canvas_->text({kMargin, kMargin + 14}, fitted(picture_ruler(), graph.name, title, room), title);
        std::string about = std::to_string(graph.ops.size()) + " ops in " +
                            std::to_string(picture_.view.items.size()) + " items, depth " +
                            std::to_string(picture_.depth) + " of " + std::to_string(picture_.full_depth);
        if (const Schedule* s = picture_.schedule) {
            about += "   ·   " + s->solver;
            if (s->budget.value > 0) about += ", budget " + format_bytes(s->budget);
            about += ", peak " + format_bytes(s->peak) + ", time " + format_overhead(s->overhead);
        }
        TextStyle quiet{.size = 10.5, .color = kQuiet};
        canvas_->text({kMargin, kMargin + 32}, fitted(picture_ruler(), about, quiet, room), quiet);
        legend(kMargin + 52);
    }

    void legend(double y) {
        double x = kMargin;
        std::set<Phase> phases;
        for (const BlockViewItem& item : picture_.view.items) phases.insert(item.phase);
        if (picture_.schedule) {
            phases.erase(Phase::forward);
            x = swatch(x, y, of(Decision::keep), "forward, kept");
            x = swatch(x, y, of(Decision::recompute), "recomputed");
            if (any_offloaded()) x = swatch(x, y, of(Decision::offload), "offloaded");
        }
        for (Phase phase : phases) x = swatch(x, y, of(phase), std::string(to_string(phase)));
        x = kMargin;
        double row = y + 18;
        for (double part : {0.04, 0.3, 1.0}) {
            // Powers of two: sizes that read well.
            auto bytes = static_cast<std::int64_t>(
                std::bit_floor(static_cast<std::uint64_t>(part * static_cast<double>(heaviest_))));
            if (bytes <= 0) continue;
            canvas_->line({x, row - 3}, {x + 22, row - 3}, {kLine.shade(0.2), line_width(bytes)});
            std::string text = format_bytes(Bytes(bytes));
            canvas_->text({x + 28, row}, text, kLegend);
            x += 28 + picture_ruler().text_width(text, kLegend) + 18;
        }
        if (picture_.schedule && heaviest_ > 0) {
            canvas_->line({x, row - 3}, {x + 22, row - 3}, {of(Decision::recompute), 1.6, {5, 3}});
            canvas_->text({x + 28, row}, "recomputed before its use", kLegend);
        }
    }

    double swatch(double x, double y, Color color, const std::string& name) {
        canvas_->rectangle({x, y - 8.5, 14, 10}, color.tint(0.72), Pen{color, 1.2}, 2.5);
        canvas_->text({x + 20, y}, name, kLegend);
        return x + 20 + picture_ruler().text_width(name, kLegend) + 18;
    }

    bool any_offloaded() const {
        return std::any_of(picture_.view.items.begin(), picture_.view.items.end(),
                           [](const BlockViewItem& item) { return item.made.offloaded.value > 0; });
    }

    void cluster(std::size_t i) {
        const BlockViewCluster& cluster = picture_.view.clusters[i];
        Rect r = place(picture_.layout.clusters[i]);
        canvas_->begin(cluster.path.empty() ? cluster.label : cluster.path);
        canvas_->rectangle(r, kGrid.faded(0.28), Pen{kLine.faded(0.8), 0.8}, 6);
        canvas_->end();
    }

    /// Above the edges that pass, on a ground of its own.
    void title(std::size_t i) {
        const Rect r = place(picture_.layout.clusters[i]);
        std::string text = title_of(picture_.view.clusters[i]);
        canvas_->rectangle({r.x + 5, r.y + 4, picture_ruler().text_width(text, kTitle) + 6, 13},
                           kPanel.faded(0.8), {}, 3);
        canvas_->text({r.x + 8, r.y + 14}, text, kTitle);
    }

    double line_width(std::int64_t bytes) const {
        return heaviest_ <= 0
                   ? 0.8
                   : 0.7 + 3.8 * std::sqrt(static_cast<double>(bytes) / static_cast<double>(heaviest_));
    }

    /// Light edges lie on top of heavy ones.
    std::vector<std::size_t> edges_by_weight() const {
        std::vector<std::size_t> order(picture_.view.edges.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return picture_.view.edges[a].bytes.total() > picture_.view.edges[b].bytes.total();
        });
        return order;
    }

    Pen pen_of(const BlockViewEdge& edge) const {
        Pen pen{kLine.shade(0.15), line_width(edge.bytes.total().value), {}};
        if (edge.role != EdgeRole::rung) return pen;
        pen.color = kSky.shade(0.1).faded(0.75);
        if (!picture_.schedule) return pen;
        Decision decision = edge.bytes.largest();
        pen.color = of(decision).faded(0.7);
        if (decision == Decision::recompute) pen.dash = {2.5 + 1.5 * pen.width, 2 + pen.width};
        if (decision == Decision::offload) pen.dash = {pen.width, 1.5 + pen.width};
        return pen;
    }

    void edge(std::size_t i) {
        const BlockViewEdge& edge = picture_.view.edges[i];
        const auto& spline = picture_.layout.edges[i];
        if (spline.size() < 4) return;
        Pen pen = pen_of(edge);
        Point tip = place(spline.back()), before = place(spline[spline.size() - 2]);
        double length = std::hypot(tip.x - before.x, tip.y - before.y);
        double head = 4.5 + 1.4 * pen.width;
        Point along =
            length > 0 ? Point{(tip.x - before.x) / length, (tip.y - before.y) / length} : Point{0, 1};
        Point neck{tip.x - along.x * head, tip.y - along.y * head};
        Path path;
        path.move_to(place(spline[0]));
        for (std::size_t k = 1; k + 2 < spline.size(); k += 3) {
            bool last = k + 3 >= spline.size();
            path.curve_to(place(spline[k]), last && length < head ? neck : place(spline[k + 1]),
                          last ? neck : place(spline[k + 2]));
        }
        canvas_->begin(tooltip_of(edge));
        canvas_->path(path, {}, pen);
        double half = 1.8 + 0.8 * pen.width;
        canvas_->path(Path()
                          .move_to(tip)
                          .line_to({neck.x - along.y * half, neck.y + along.x * half})
                          .line_to({neck.x + along.y * half, neck.y - along.x * half})
                          .close(),
                      pen.color, {});
        canvas_->end();
    }

    std::string tooltip_of(const BlockViewEdge& edge) const {
        std::string text = picture_.view.items[edge.from].label + " → " + picture_.view.items[edge.to].label +
                           "\n" + std::to_string(edge.tensors) +
                           (edge.tensors == 1 ? " tensor, " : " tensors, ") +
                           format_bytes(edge.bytes.total());
        if (picture_.schedule && edge.bytes.total().value > 0) text += "\n" + shares_text(edge.bytes);
        return text;
    }

    Color color_of(const BlockViewItem& item) const {
        bool decided = picture_.schedule && item.phase == Phase::forward;
        return decided ? of(item.made.largest()) : of(item.phase);
    }

    void item(std::size_t i) {
        const BlockViewItem& item = picture_.view.items[i];
        Rect r = place(picture_.layout.items[i]);
        Color color = color_of(item);
        canvas_->begin(rematlas::tooltip_of(item, picture_.schedule != nullptr));
        canvas_->rectangle(r, color.tint(0.82),
                           Pen{color, item.block.valid() && item.op_count > 1 ? 1.5 : 0.9}, 5);
        std::string label = label_of(item);
        canvas_->text({r.x + 9, r.y + 14.5}, label, kLabel);
        if (item.repeats > 1) {
            TextStyle style = kFigures;
            style.align = Align::right;
            canvas_->text({r.x + r.width - 9, r.y + 14.5}, times(item.repeats), style);
        }
        canvas_->text({r.x + 9, r.y + 27.5}, figures_of(item), kFigures);
        if (picture_.schedule && item.phase == Phase::forward && item.made.total().value > 0)
            share_bar(item.made, r);
        canvas_->end();
    }

    void share_bar(const DecisionShares& made, const Rect& r) {
        double x = r.x + 9, room = r.width - 18;
        for (auto [decision, bytes] : {std::pair{Decision::keep, made.kept},
                                       {Decision::recompute, made.recomputed},
                                       {Decision::offload, made.offloaded}}) {
            double part = room * static_cast<double>(bytes.value) / static_cast<double>(made.total().value);
            if (part > 0) canvas_->rectangle({x, r.y + 32, part, 4}, of(decision));
            x += part;
        }
    }

    const BlockPicture& picture_;
    std::unique_ptr<PictureCanvas> canvas_;
    std::int64_t heaviest_ = 0;
    double width_ = 0, left_ = 0;
};

}  // namespace

std::vector<Size> item_sizes(const BlockView& view, bool with_schedule) {
    std::vector<Size> sizes;
    for (const BlockViewItem& item : view.items) {
        double first = picture_ruler().text_width(label_of(item), kLabel);
        if (item.repeats > 1) first += 12 + picture_ruler().text_width(times(item.repeats), kFigures);
        double width = std::max(first, picture_ruler().text_width(figures_of(item), kFigures)) + 18;
        bool bar = with_schedule && item.phase == Phase::forward;
        sizes.push_back({std::ceil(std::max(width, 72.0)), kItemHeight + (bar ? 5 : 0)});
    }
    return sizes;
}

std::vector<Size> title_sizes(const BlockView& view) {
    std::vector<Size> sizes;
    for (const BlockViewCluster& cluster : view.clusters)
        sizes.push_back({std::ceil(picture_ruler().text_width(title_of(cluster), kTitle)) + 4, 12});
    return sizes;
}

Result<std::string> draw_blocks(const BlockPicture& picture, PictureFormat format) {
    return BlockPainter(picture, format).paint();
}

}  // namespace rematlas
