#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/sizes.h"
#include "core/bounds/least_memory.h"
#include "core/graph/flat_graph.h"
#include "core/planning/solve.h"
#include "core/schedule/run_sequence.h"
#include "viz/paint/axis.h"
#include "viz/paint/painters.h"
#include "viz/paint/palette.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr Size kPage{1040, 560};
constexpr Rect kPlot{84, 86, 756, 404};

const TextStyle kAxisTitle{.size = 11, .color = kInk};

/// A schedule that was found: what it needs and what it costs.
struct Found {
    Bytes peak;
    double overhead;
};

struct Curve {
    std::string solver;
    std::vector<Found>
        points;  ///< peaks ascending, overheads descending: those that no other point of the curve beats
};

Curve curve_of(const SweepCurve& source) {
    Curve curve{source.solver, {}};
    std::vector<Found> all;
    for (const SweepPoint& point : source.points)
        if (point.status != "infeasible" && point.peak.value > 0) all.push_back({point.peak, point.overhead});
    std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
        return std::pair(a.peak, a.overhead) < std::pair(b.peak, b.overhead);
    });
    for (const Found& found : all)
        if (curve.points.empty() || found.overhead < curve.points.back().overhead - 1e-9)
            curve.points.push_back(found);
    return curve;
}

/// The proven bounds of all curves as a falling staircase: at memory x no schedule is faster than `bound`,
/// and likewise for any less.
struct BoundStep {
    Bytes budget;
    double overhead;
};

std::vector<BoundStep> best_bounds(const Sweep& sweep) {
    std::vector<BoundStep> bounds;
    for (const SweepCurve& curve : sweep.curves)
        for (const SweepPoint& point : curve.points)
            if (point.bound && point.bound->overhead > 1)
                bounds.push_back({point.budget, point.bound->overhead});
    std::sort(bounds.begin(), bounds.end(),
              [](const BoundStep& a, const BoundStep& b) { return a.budget > b.budget; });
    std::vector<BoundStep> best;
    for (const BoundStep& bound : bounds)
        if (best.empty() || bound.overhead > best.back().overhead) best.push_back(bound);
    std::reverse(best.begin(), best.end());
    return best;
}

/// One picture; the constructor decides the ranges, `paint` draws from the back to the front.
class SweepPainter {
  public:
    SweepPainter(const Sweep& sweep, const Graph* graph, PictureFormat format)
        : sweep_(sweep), bounds_(best_bounds(sweep)), canvas_(make_canvas(format, kPage, sweep.graph)) {
        for (const SweepCurve& curve : sweep.curves) curves_.push_back(curve_of(curve));
        if (graph) {
            FlatGraph flat = flatten(*graph);
            keep_all_ = keep_all_peak(flat);
            least_ = least_memory(flat).bytes;
        }
        choose_ranges();
    }

    Result<std::string> paint() {
        header();
        canvas_->rectangle(kPlot, kPanel);
        grid();
        forbidden();
        canvas_->clip({kPlot.x, kPlot.y, kPlot.width, kPlot.height + 2});
        bound();
        for (std::size_t i = curves_.size(); i-- > 0;) line(i);  // the first solver ends on top
        canvas_->unclip();
        for (std::size_t i = curves_.size(); i-- > 0;) markers(i);
        keep_all();
        axes();
        legend();
        return canvas_->finish();
    }

  private:
    void choose_ranges() {
        std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = 0;
        double worst = 1;
        std::vector<double> ends;
        for (const Curve& curve : curves_) {
            for (const Found& found : curve.points) {
                low = std::min(low, found.peak.value);
                high = std::max(high, found.peak.value);
            }
            bool saves = !curve.points.empty() && curve.points.front().overhead > 1 + 1e-6;
            if (saves) ends.push_back(curve.points.front().overhead - 1);
        }
        if (keep_all_) high = std::max(high, keep_all_->value);
        if (least_) low = std::min(low, least_->value);
        if (high == 0) low = 0, high = 1;
        // A solver far above the others must not flatten them: it leaves the plot at the top.
        std::sort(ends.begin(), ends.end());
        for (double end : ends)
            if (end <= std::max(3 * ends[ends.size() / 2], 0.02)) worst = std::max(worst, 1 + end);
        for (const BoundStep& bound : bounds_) worst = std::max(worst, bound.overhead);
        double margin = 0.06 * static_cast<double>(std::max<std::int64_t>(high - low, high / 50 + 1));
        x_ = bytes_axis(std::max(0.0, static_cast<double>(low) - 1.5 * margin),
                        static_cast<double>(high) + margin, kPlot.x, kPlot.x + kPlot.width, 8);
        y_ = overhead_axis(1, 1 + std::max(worst - 1, 0.005) * 1.08, kPlot.y + kPlot.height, kPlot.y, 6);
    }

    double x(Bytes bytes) const { return x_.at(static_cast<double>(bytes.value)); }

    void header() {
        TextStyle title{.size = 16, .bold = true};
        canvas_->text({kPlot.x, 36},
                      fitted(picture_ruler(), "Memory against time: " + sweep_.graph, title, kPlot.width),
                      title);
        std::string about = std::to_string(curves_.size()) + (curves_.size() == 1 ? " solver" : " solvers");
        if (keep_all_) about += "   ·   without recomputation " + format_bytes(*keep_all_);
        if (least_) about += "   ·   no schedule fits below " + format_bytes(*least_);
        canvas_->text({kPlot.x, 56}, fitted(picture_ruler(), about, kNote, kPage.width - kPlot.x - 14),
                      kNote);
    }

    void grid() {
        for (const Tick& tick : x_.ticks)
            canvas_->line({x_.at(tick.value), kPlot.y}, {x_.at(tick.value), kPlot.y + kPlot.height},
                          {kGrid, 1});
        for (const Tick& tick : y_.ticks)
            canvas_->line({kPlot.x, y_.at(tick.value)}, {kPlot.x + kPlot.width, y_.at(tick.value)},
                          {kGrid, 1});
    }

    void axes() {
        Point corner{kPlot.x, kPlot.y + kPlot.height};
        canvas_->line({kPlot.x, kPlot.y}, corner, {kLine, 1.2});
        canvas_->line(corner, {kPlot.x + kPlot.width, corner.y}, {kLine, 1.2});
        TextStyle below = kTick, beside = kTick;
        below.align = Align::center;
        beside.align = Align::right;
        for (const Tick& tick : x_.ticks) {
            canvas_->line({x_.at(tick.value), corner.y}, {x_.at(tick.value), corner.y + 4}, {kLine, 1});
            canvas_->text({x_.at(tick.value), corner.y + 18}, tick.label, below);
        }
        for (const Tick& tick : y_.ticks) {
            canvas_->line({kPlot.x - 4, y_.at(tick.value)}, {kPlot.x, y_.at(tick.value)}, {kLine, 1});
            canvas_->text({kPlot.x - 8, y_.at(tick.value) + 3.5}, tick.label, beside);
        }
        TextStyle title = kAxisTitle;
        title.align = Align::center;
        canvas_->text({kPlot.x + kPlot.width / 2, corner.y + 42}, "peak memory [" + x_.unit + "]", title);
        title.upward = true;
        canvas_->text({24, kPlot.y + kPlot.height / 2}, "time added by recomputation", title);
    }

    /// Left of the least peak nothing can run; between it and the smallest peak found nobody knows.
    void forbidden() {
        if (!least_) return;
        double right = x(*least_);
        if (right <= kPlot.x + 1) return;
        Rect area{kPlot.x, kPlot.y, right - kPlot.x, kPlot.height};
        canvas_->begin("below " + format_bytes(*least_) + " no schedule exists");
        canvas_->clip(area);
        canvas_->rectangle(area, kGrid.faded(0.7));
        for (double start = area.x - area.height; start < area.x + area.width; start += 9)
            canvas_->line({start, area.y + area.height}, {start + area.height, area.y},
                          {kLine.faded(0.55), 0.8});
        canvas_->unclip();
        canvas_->line({right, area.y}, {right, area.y + area.height}, {kQuiet, 1});
        TextStyle style{.size = 10, .bold = true, .color = kQuiet, .align = Align::center, .upward = true};
        std::string text = area.width < 34 ? "infeasible" : "infeasible below " + format_bytes(*least_);
        if (area.width > 16) {
            double half = picture_ruler().text_width(text, style) / 2 + 6, middle = area.x + area.width / 2;
            canvas_->rectangle({middle - 9, area.y + area.height / 2 - half, 18, 2 * half},
                               kPanel.faded(0.92), {}, 4);
            canvas_->text({middle + 3.5, area.y + area.height / 2}, text, style);
        }
        canvas_->end();
    }

    void bound() {
        if (bounds_.empty()) return;
        Path path;
        double left = least_ ? std::max(kPlot.x, x(*least_)) : kPlot.x;
        path.move_to({left, y_.at(bounds_.front().overhead)});
        for (std::size_t i = 0; i < bounds_.size(); ++i) {
            double at = std::max(left, x(bounds_[i].budget));
            path.line_to({at, y_.at(bounds_[i].overhead)});
            path.line_to({at, y_.at(i + 1 < bounds_.size() ? bounds_[i + 1].overhead : 1)});
        }
        canvas_->path(path, {}, Pen{kInk, 1.4, {1.5, 3}});
    }

    Color color(std::size_t i) const { return kCurves[i % kCurves.size()]; }

    /// A schedule stays valid for every larger budget: the curve is a staircase.
    void line(std::size_t i) {
        const Curve& curve = curves_[i];
        if (curve.points.empty()) return;
        Path path;
        path.move_to({x(curve.points[0].peak), y_.at(curve.points[0].overhead)});
        for (std::size_t k = 1; k < curve.points.size(); ++k) {
            path.line_to({x(curve.points[k].peak), y_.at(curve.points[k - 1].overhead)});
            path.line_to({x(curve.points[k].peak), y_.at(curve.points[k].overhead)});
        }
        double end = keep_all_ ? std::max(x(*keep_all_), x(curve.points.back().peak)) : kPlot.x + kPlot.width;
        path.line_to({end, y_.at(curve.points.back().overhead)});
        canvas_->begin(curve.solver);
        canvas_->path(path, {}, Pen{color(i), 1.8});
        canvas_->end();
    }

    void markers(std::size_t i) {
        for (const Found& found : curves_[i].points) {
            Point p{x(found.peak), y_.at(found.overhead)};
            canvas_->begin(curves_[i].solver + ": " + format_bytes(found.peak) + ", " +
                           format_overhead(found.overhead));
            if (p.y >= kPlot.y - 5) {
                marker(p, i);
            } else {
                arrow_up({p.x, kPlot.y + 4}, color(i));
                TextStyle style{.size = 8.5, .color = color(i).shade(0.2), .align = Align::center};
                if (is_free_above(p.x))
                    canvas_->text({p.x, kPlot.y - 6}, format_overhead(found.overhead), style);
            }
            canvas_->end();
        }
    }

    /// Whether a label fits above the plot at x; takes the place.
    bool is_free_above(double x) {
        for (double taken : labelled_)
            if (std::abs(taken - x) < 50) return false;
        labelled_.push_back(x);
        return true;
    }

    /// The point lies above the plot.
    void arrow_up(Point p, Color color) {
        canvas_->path(Path()
                          .move_to({p.x, p.y - 6})
                          .line_to({p.x + 4.5, p.y + 2})
                          .line_to({p.x - 4.5, p.y + 2})
                          .close(),
                      color, {});
    }

    void marker(Point p, std::size_t i) {
        Pen rim{Color::hex(0xffffff), 1};
        double r = 4.2;
        switch (i % 5) {
            case 0:
                canvas_->rectangle({p.x - r, p.y - r, 2 * r, 2 * r}, color(i), rim, r);
                break;
            case 1:
                canvas_->rectangle({p.x - 3.8, p.y - 3.8, 7.6, 7.6}, color(i), rim);
                break;
            case 2:
                polygon({{p.x, p.y - 5.2}, {p.x + 5, p.y + 3.6}, {p.x - 5, p.y + 3.6}}, color(i), rim);
                break;
            case 3:
                polygon({{p.x, p.y - 5.6}, {p.x + 5.6, p.y}, {p.x, p.y + 5.6}, {p.x - 5.6, p.y}}, color(i),
                        rim);
                break;
            case 4:
                polygon({{p.x, p.y + 5.2}, {p.x + 5, p.y - 3.6}, {p.x - 5, p.y - 3.6}}, color(i), rim);
                break;
        }
    }

    void polygon(const std::vector<Point>& corners, Color fill, const Pen& pen) {
        Path path;
        path.move_to(corners[0]);
        for (std::size_t k = 1; k < corners.size(); ++k) path.line_to(corners[k]);
        canvas_->path(path.close(), fill, pen);
    }

    void keep_all() {
        if (!keep_all_) return;
        double at = x(*keep_all_);
        canvas_->line({at, kPlot.y}, {at, kPlot.y + kPlot.height}, {kQuiet, 1, {6, 4}});
        TextStyle style{.size = 10, .color = kQuiet, .align = Align::right, .upward = true};
        canvas_->text({at + 13, kPlot.y + 6}, "no recomputation: " + format_bytes(*keep_all_), style);
    }

    struct Entry {
        std::string text;
        int curve;  ///< -1: the bound
    };

    std::vector<Entry> entries() const {
        std::vector<Entry> entries;
        for (std::size_t i = 0; i < curves_.size(); ++i) {
            std::string note = curves_[i].points.empty() ? " (nothing)" : "";
            entries.push_back({curves_[i].solver + note, static_cast<int>(i)});
        }
        if (!bounds_.empty()) entries.push_back({"proven lower bound", -1});
        return entries;
    }

    void legend() {
        TextStyle style{.size = 11, .color = kInk};
        std::vector<Entry> all = entries();
        Rect box{kPlot.x + kPlot.width + 14, kPlot.y, kPage.width - kPlot.x - kPlot.width - 28,
                 12 + 19.0 * static_cast<double>(all.size())};
        canvas_->rectangle(box, {}, Pen{kGrid.shade(0.06), 1}, 5);
        double y = box.y + 15.5;
        for (const Entry& entry : all) {
            Point a{box.x + 12, y}, b{box.x + 40, y};
            if (entry.curve < 0) {
                canvas_->line(a, b, {kInk, 1.4, {1.5, 3}});
            } else {
                canvas_->line(a, b, {color(static_cast<std::size_t>(entry.curve)), 1.8});
                marker({box.x + 26, y}, static_cast<std::size_t>(entry.curve));
            }
            canvas_->text({box.x + 48, y + 4}, fitted(picture_ruler(), entry.text, style, box.width - 54),
                          style);
            y += 19;
        }
    }

    const Sweep& sweep_;
    std::vector<BoundStep> bounds_;
    std::unique_ptr<PictureCanvas> canvas_;
    std::vector<Curve> curves_;
    std::vector<double> labelled_;
    std::optional<Bytes> keep_all_, least_;
    Axis x_, y_;
};

}  // namespace

Result<std::string> draw_sweep(const Sweep& sweep, const Graph* graph, PictureFormat format) {
    return SweepPainter(sweep, graph, format).paint();
}

}  // namespace rematlas
