#include "viz/paint/sweep_painter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/sizes.h"
#include "viz/paint/sweep_curves.h"
#include "viz/paint/words.h"

namespace rematlas {

namespace {

using namespace palette;

struct LegendEntry {
    std::string text;
    int curve, bound = -1;  ///< indices; one of the two is -1
};

std::vector<LegendEntry> legend_entries(const Sweep& sweep) {
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < sweep.curves.size(); ++i) {
        const auto& points = sweep.curves[i].points;
        bool any = std::any_of(points.begin(), points.end(), was_found);
        const std::string name = curve_name(sweep.curves[i]);
        entries.push_back({any ? name : filled(say("Picture", "%1 (nothing)"), {name}), static_cast<int>(i)});
    }
    const std::vector<BoundCurve> bounds = bound_curves(sweep);
    for (std::size_t i = 0; i < bounds.size(); ++i)
        entries.push_back({bound_name(bounds[i]), -1, static_cast<int>(i)});
    return entries;
}

constexpr double kLegendBeside = 172, kLegendRow = 19;
constexpr double kSample = 28, kSampleRoom = 36;  // length of the sample line before a name; distance from
                                                  // the begin of this line to the name

/// Returns the upper left corners of the entries of the legend. Above the plot, the entries are in rows that
/// are filled from the left; in a box beside the plot, they are one below the other.
std::vector<Point> legend_places(const std::vector<LegendEntry>& entries, const SweepScene& scene,
                                 const TextRuler& ruler, const Rect& area) {
    std::vector<Point> places;
    TextStyle style{.size = scene.text_size + 1};
    double x = area.x, y = area.y;
    for (const LegendEntry& entry : entries) {
        double width = kSampleRoom + ruler.text_width(entry.text, style) + 16;
        if (!places.empty() && (!scene.legend_above || x + width > area.x + area.width)) {
            x = area.x;
            y += kLegendRow;
        }
        places.push_back({x, y});
        x += width;
    }
    return places;
}

class SweepPainter {
  public:
    SweepPainter(Canvas& canvas, const SweepScene& scene)
        : canvas_(canvas),
          scene_(scene),
          paper_(scene.paper),
          places_(places_of(scene, canvas)),
          plot_(places_.plot),
          bottom_(plot_.y + plot_.height),
          right_(plot_.x + plot_.width),
          bounds_(bound_curves(scene.sweep)),
          tick_{.size = scene.text_size, .color = paper_.quiet} {
        for (const SweepCurve& curve : scene.sweep.curves) curves_.push_back(found_in(curve));
    }

    /// Paints all elements, from the back to the front.
    void paint() {
        canvas_.rectangle(plot_, paper_.panel);
        grid();
        forbidden();
        canvas_.clip({plot_.x, plot_.y, plot_.width, plot_.height + 2});
        for (std::size_t i = 0; i < bounds_.size(); ++i) bound(i);
        for (std::size_t i = curves_.size(); i-- > 0;) line(i);  // the first solver is painted last, on top
        canvas_.unclip();
        keep_all();
        budget();
        axes();
        for (std::size_t i = curves_.size(); i-- > 0;) markers(i);
        shown();
        legend();
    }

  private:
    double x(Bytes bytes) const { return places_.x.at(static_cast<double>(bytes.value)); }
    Point at(const SweepPoint& point) const { return {x(point.peak), places_.y.at(point.overhead)}; }
    bool in_width(double at) const { return at >= plot_.x - 0.5 && at <= right_ + 0.5; }
    Color color(std::size_t curve) const {
        return paper_.data(kCurves[curve_look(scene_.sweep.curves[curve]) % kCurves.size()]);
    }
    const SweepPoint& point(std::size_t curve, int i) const {
        return scene_.sweep.curves[curve].points[static_cast<std::size_t>(i)];
    }

    void grid() {
        for (const Tick& tick : places_.x.ticks) {
            double at = places_.x.at(tick.value);
            canvas_.line({at, plot_.y}, {at, bottom_}, {paper_.grid, 1});
        }
        for (const Tick& tick : places_.y.ticks) {
            double at = places_.y.at(tick.value);
            canvas_.line({plot_.x, at}, {right_, at}, {paper_.grid, 1});
        }
    }

    void axes() {
        Point corner{plot_.x, bottom_};
        canvas_.line({plot_.x, plot_.y}, corner, {paper_.line, 1.2});
        canvas_.line(corner, {right_, bottom_}, {paper_.line, 1.2});
        TextStyle below = tick_, beside = tick_;
        below.align = Align::center;
        beside.align = Align::right;
        for (const Tick& tick : places_.x.ticks) {
            double at = places_.x.at(tick.value);
            canvas_.line({at, bottom_}, {at, bottom_ + 4}, {paper_.line, 1});
            canvas_.text({at, bottom_ + 8 + below.size}, tick.label, below);
        }
        for (const Tick& tick : places_.y.ticks) {
            double at = places_.y.at(tick.value);
            canvas_.line({plot_.x - 4, at}, {plot_.x, at}, {paper_.line, 1});
            canvas_.text({plot_.x - 8, at + 0.35 * beside.size}, tick.label, beside);
        }
        TextStyle title{.size = scene_.text_size + 1, .color = paper_.ink, .align = Align::center};
        canvas_.text({plot_.x + plot_.width / 2, bottom_ + 16 + 2.2 * title.size},
                     filled(say("Picture", "peak memory [%1]"), {places_.x.unit}), title);
        title.upward = true;
        std::string beside_title = has_copies(scene_.sweep)
                                       ? say("Picture", "time added by recomputation and copies")
                                       : say("Picture", "time added by recomputation");
        if (canvas_.text_width(beside_title, title) > plot_.height + 30)
            beside_title = say("Picture", "added time");
        canvas_.text({scene_.rect.x + 4 + title.size, plot_.y + plot_.height / 2}, beside_title, title);
    }

    /// Paints the area left of the least peak, where no schedule exists. Between the least peak and the
    /// smallest peak that was found, it is unknown whether schedules exist.
    void forbidden() {
        if (!scene_.least) return;
        double right = std::min(x(*scene_.least), right_);
        if (right <= plot_.x + 1) return;
        Rect area{plot_.x, plot_.y, right - plot_.x, plot_.height};
        canvas_.begin("below " + format_bytes(*scene_.least) + " no schedule exists");
        canvas_.clip(area);
        canvas_.rectangle(area, paper_.grid.faded(0.7));
        for (double start = area.x - area.height; start < area.x + area.width; start += 9)
            canvas_.line({start, area.y + area.height}, {start + area.height, area.y},
                         {paper_.line.faded(0.55), 0.8});
        canvas_.unclip();
        canvas_.line({right, area.y}, {right, bottom_}, {paper_.quiet, 1});
        TextStyle style{.size = scene_.text_size,
                        .bold = true,
                        .color = paper_.quiet,
                        .align = Align::center,
                        .upward = true};
        std::string text = filled(say("Picture", "infeasible below %1"), {format_bytes(*scene_.least)});
        if (area.width < 34 || canvas_.text_width(text, style) > area.height)
            text = say("Picture", "infeasible");
        if (area.width > 16 && canvas_.text_width(text, style) < area.height) {
            double half = canvas_.text_width(text, style) / 2 + 6, middle = area.x + area.width / 2;
            canvas_.rectangle({middle - 9, area.y + area.height / 2 - half, 18, 2 * half},
                              paper_.panel.faded(0.92), {}, 4);
            canvas_.text({middle + 3.5, area.y + area.height / 2}, text, style);
        }
        canvas_.end();
    }

    /// Returns the pen of a dotted line. The more kinds of copies are allowed, the fewer dots the line has.
    Pen bound_pen(std::size_t i) const {
        return {paper_.ink, 1.4, {1.5, 3 + 2 * static_cast<double>(bounds_[i].what)}};
    }

    void bound(std::size_t index) {
        const std::vector<BoundStep>& steps = bounds_[index].steps;
        Path path;
        double left = scene_.least ? std::max(plot_.x, x(*scene_.least)) : plot_.x;
        path.move_to({left, places_.y.at(steps.front().overhead)});
        for (std::size_t i = 0; i < steps.size(); ++i) {
            double at = std::max(left, x(steps[i].budget));
            path.line_to({at, places_.y.at(steps[i].overhead)});
            path.line_to({at, places_.y.at(i + 1 < steps.size() ? steps[i + 1].overhead : 1)});
        }
        canvas_.path(path, {}, bound_pen(index));
    }

    Pen curve_pen(std::size_t i) const { return {color(i), 1.8, curve_dash(scene_.sweep.curves[i])}; }

    /// Paints the curve as a staircase, because a schedule stays valid for every larger budget.
    void line(std::size_t i) {
        const std::vector<int>& best = curves_[i].best;
        if (best.empty()) return;
        Path path;
        Point last = at(point(i, best[0]));
        path.move_to(last);
        for (std::size_t k = 1; k < best.size(); ++k) {
            Point next = at(point(i, best[k]));
            path.line_to({next.x, last.y}).line_to(next);
            last = next;
        }
        double end = scene_.keep_all ? std::max(x(*scene_.keep_all), last.x) : std::max(right_, last.x);
        path.line_to({end, last.y});
        canvas_.begin(curve_name(scene_.sweep.curves[i]));
        canvas_.path(path, {}, curve_pen(i));
        canvas_.end();
    }

    void markers(std::size_t i) {
        for (int k : curves_[i].beaten) {
            Point p = at(point(i, k));
            if (!in_plot(p)) continue;
            double r = is_hovered(i, k) ? 4 : 2.2;
            canvas_.rectangle({p.x - r, p.y - r, 2 * r, 2 * r}, color(i).faded(0.45), {}, r);
        }
        for (int k : curves_[i].best) {
            const SweepPoint& found = point(i, k);
            Point p = at(found);
            if (!in_width(p.x) || p.y > bottom_ + 5) continue;
            canvas_.begin(curve_name(scene_.sweep.curves[i]) + ": " + format_bytes(found.peak) + ", " +
                          format_overhead(found.overhead));
            if (p.y >= plot_.y - 5)
                marker(p, i, is_hovered(i, k) ? 1.5 : 1);
            else
                above_the_plot(p.x, i, found);
            canvas_.end();
        }
    }

    bool in_plot(Point p) const { return in_width(p.x) && p.y >= plot_.y - 5 && p.y <= bottom_ + 5; }
    bool is_hovered(std::size_t curve, int point) const {
        return scene_.hovered_curve == static_cast<int>(curve) && scene_.hovered_point == point;
    }

    void above_the_plot(double at, std::size_t i, const SweepPoint& found) {
        double y = plot_.y + 4;
        canvas_.path(
            Path().move_to({at, y - 6}).line_to({at + 4.5, y + 2}).line_to({at - 4.5, y + 2}).close(),
            color(i), {});
        TextStyle style{
            .size = scene_.text_size - 1.5, .color = paper_.text(color(i)), .align = Align::center};
        for (double taken : labelled_)
            if (std::abs(taken - at) < 50) return;
        labelled_.push_back(at);
        canvas_.text({at, plot_.y - 6}, format_overhead(found.overhead), style);
    }

    /// Paints a marker. The marker is hollow if the schedules of the curve may make copies.
    void marker(Point p, std::size_t curve, double scale = 1) {
        const bool hollow = scene_.sweep.curves[curve].copies.what != Offload::none;
        const Pen rim = hollow ? Pen{color(curve), 1.6} : Pen{paper_.page, 1};
        const Color fill = hollow ? paper_.page : color(curve);
        double r = 4.2 * scale, s = scale;
        switch (curve_look(scene_.sweep.curves[curve]) % 5) {
            case 0:
                canvas_.rectangle({p.x - r, p.y - r, 2 * r, 2 * r}, fill, rim, r);
                break;
            case 1:
                canvas_.rectangle({p.x - 3.8 * s, p.y - 3.8 * s, 7.6 * s, 7.6 * s}, fill, rim);
                break;
            case 2:
                polygon(p, s, {{0, -5.2}, {5, 3.6}, {-5, 3.6}}, fill, rim);
                break;
            case 3:
                polygon(p, s, {{0, -5.6}, {5.6, 0}, {0, 5.6}, {-5.6, 0}}, fill, rim);
                break;
            case 4:
                polygon(p, s, {{0, 5.2}, {5, -3.6}, {-5, -3.6}}, fill, rim);
                break;
        }
    }

    void polygon(Point p, double scale, const std::vector<Point>& corners, Color fill, const Pen& pen) {
        Path path;
        for (std::size_t k = 0; k < corners.size(); ++k) {
            Point corner{p.x + scale * corners[k].x, p.y + scale * corners[k].y};
            k == 0 ? path.move_to(corner) : path.line_to(corner);
        }
        canvas_.path(path.close(), fill, pen);
    }

    void upward_label(Point at, const std::string& text, const Color& color) {
        TextStyle style{.size = scene_.text_size, .color = color, .align = Align::right, .upward = true};
        if (canvas_.text_width(text, style) < 0.5 * plot_.height) canvas_.text(at, text, style);
    }

    void keep_all() {
        if (!scene_.keep_all) return;
        double at = x(*scene_.keep_all);
        if (!in_width(at)) return;
        canvas_.line({at, plot_.y}, {at, bottom_}, {paper_.quiet, 1, {6, 4}});
        upward_label({at + scene_.text_size + 3, plot_.y + 6},
                     filled(say("Picture", "no recomputation: %1"), {format_bytes(*scene_.keep_all)}),
                     paper_.quiet);
    }

    void budget() {
        if (!scene_.budget) return;
        double at = x(*scene_.budget);
        if (!in_width(at)) return;
        canvas_.line({at, plot_.y}, {at, bottom_}, {paper_.budget, 1.2, {7, 4}});
        upward_label({at - 4, plot_.y + 6},
                     filled(say("Picture", "budget %1"), {format_bytes(*scene_.budget)}), paper_.budget);
    }

    void shown() {
        if (!scene_.shown) return;
        Point p{x(scene_.shown->peak), std::max(places_.y.at(scene_.shown->overhead), plot_.y)};
        if (!in_plot(p)) return;
        canvas_.begin("shown: " + format_bytes(scene_.shown->peak) + ", " +
                      format_overhead(scene_.shown->overhead));
        canvas_.rectangle({p.x - 5.5, p.y - 5.5, 11, 11}, paper_.mark, Pen{paper_.ink, 2}, 5.5);
        canvas_.end();
    }

    void legend() {
        const std::vector<LegendEntry> entries = legend_entries(scene_.sweep);
        Rect inner = places_.legend;
        if (!scene_.legend_above) {
            canvas_.rectangle(places_.legend, {}, Pen{paper_.grid.mixed(paper_.ink, 0.06), 1}, 5);
            inner = {inner.x + 12, inner.y + 6, inner.width - 24, inner.height - 12};
        }
        const std::vector<Point> places = legend_places(entries, scene_, canvas_, inner);
        TextStyle style{.size = scene_.text_size + 1, .color = paper_.ink};
        for (std::size_t i = 0; i < entries.size(); ++i) {
            double y = places[i].y + kLegendRow / 2;
            Point a{places[i].x, y}, b{places[i].x + kSample, y};
            if (entries[i].curve < 0) {
                canvas_.line(a, b, bound_pen(static_cast<std::size_t>(entries[i].bound)));
            } else {
                auto curve = static_cast<std::size_t>(entries[i].curve);
                canvas_.line(a, b, curve_pen(curve));
                marker({(a.x + b.x) / 2, y}, curve);
            }
            double room = inner.x + inner.width - b.x - (kSampleRoom - kSample);
            canvas_.text({places[i].x + kSampleRoom, y + 0.36 * style.size},
                         fitted(canvas_, entries[i].text, style, room), style);
        }
    }

    Canvas& canvas_;
    const SweepScene& scene_;
    const Paper& paper_;
    SweepPlaces places_;
    const Rect& plot_;
    double bottom_, right_;
    std::vector<BoundCurve> bounds_;
    std::vector<FoundCurve> curves_;
    std::vector<double> labelled_;  ///< x of the labels above the plot
    TextStyle tick_;
};

}  // namespace

SweepRange whole_range(const SweepScene& scene) {
    std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = 0;
    double worst = 1, best = 1;
    std::vector<double> ends;
    for (const SweepCurve& curve : scene.sweep.curves) {
        double slowest = 1;
        for (const SweepPoint& point : curve.points) {
            if (point.bound) worst = std::max(worst, point.bound->overhead);
            if (!was_found(point)) continue;
            best = std::min(best, point.overhead);
            low = std::min(low, point.peak.value);
            high = std::max(high, point.peak.value);
            slowest = std::max(slowest, point.overhead);
        }
        if (slowest > 1 + 1e-6) ends.push_back(slowest - 1);
    }
    if (scene.keep_all) high = std::max(high, scene.keep_all->value);
    if (scene.least) low = std::min(low, scene.least->value);
    if (high == 0) low = 0, high = 1;
    std::sort(ends.begin(), ends.end());
    for (double end : ends)
        if (end <= std::max(3 * ends[ends.size() / 2], 0.02)) worst = std::max(worst, 1 + end);
    const double slowest = 1 + std::max(worst - 1, 0.005) * 1.08;
    double margin = 0.06 * static_cast<double>(std::max<std::int64_t>(high - low, high / 50 + 1));
    return {.least = std::max(0.0, static_cast<double>(low) - 1.5 * margin),
            .most = static_cast<double>(high) + margin,
            // The overhead can be below 1, because updates on the host can make the step faster.
            .fastest = best < 1 - 1e-6 ? best - 0.04 * (slowest - best) : 1,
            .slowest = slowest};
}

SweepPlaces places_of(const SweepScene& scene, const TextRuler& ruler) {
    SweepPlaces places;
    const Rect& all = scene.rect;
    const std::vector<LegendEntry> entries = legend_entries(scene.sweep);
    double left = all.x + 52 + 3 * scene.text_size, right = all.x + all.width - 14;
    double top = all.y + 16, bottom = all.y + all.height - 24 - 3 * scene.text_size;
    if (scene.legend_above) {
        places.legend = {left - 24, all.y + 6, std::max(1.0, right - left + 24), 0};
        const std::vector<Point> rows = legend_places(entries, scene, ruler, places.legend);
        places.legend.height = rows.empty() ? 0 : rows.back().y + kLegendRow - places.legend.y;
        top += places.legend.height + 6;  // room for the labels of points above the plot
    } else {
        right -= kLegendBeside + 14;
        places.legend = {right + 14, top, kLegendBeside,
                         12 + kLegendRow * static_cast<double>(entries.size())};
    }
    places.plot = {left, top, std::max(1.0, right - left), std::max(1.0, bottom - top)};
    SweepRange range = scene.range.value_or(whole_range(scene));
    const Rect& plot = places.plot;
    places.x = bytes_axis(range.least, range.most, plot.x, plot.x + plot.width,
                          std::max(2, static_cast<int>(plot.width / 90)));
    places.y = overhead_axis(range.fastest, range.slowest, plot.y + plot.height, plot.y,
                             std::clamp(static_cast<int>(plot.height / 45), 3, 8));
    return places;
}

std::vector<SweepMarker> sweep_markers(const SweepScene& scene, const TextRuler& ruler) {
    const SweepPlaces places = places_of(scene, ruler);
    std::vector<SweepMarker> markers;
    for (std::size_t i = 0; i < scene.sweep.curves.size(); ++i) {
        const auto& points = scene.sweep.curves[i].points;
        for (std::size_t k = 0; k < points.size(); ++k) {
            if (!was_found(points[k])) continue;
            Point at{places.x.at(static_cast<double>(points[k].peak.value)),
                     std::max(places.y.at(points[k].overhead), places.plot.y)};
            bool inside = at.x >= places.plot.x - 0.5 && at.x <= places.plot.x + places.plot.width + 0.5 &&
                          at.y <= places.plot.y + places.plot.height + 5;
            if (inside) markers.push_back({static_cast<int>(i), static_cast<int>(k), at});
        }
    }
    return markers;
}

void paint_sweep(Canvas& canvas, const SweepScene& scene) {
    SweepPainter(canvas, scene).paint();
}

}  // namespace rematlas
