#include "viz/paint/measured_painter.h"

#include <algorithm>

#include "core/base/sizes.h"
#include "viz/paint/memory_curve.h"
#include "viz/paint/words.h"

namespace rematlas {
namespace {

constexpr double kNumbersWidth = 84, kAxisHeight = 24, kTopRoomMeasured = 20, kRightRoom = 14;
constexpr double kLegendWidth = 264, kLeastForLegend = 760;  // in points; the legend is left out
                                                             // if the picture is narrower than the latter
constexpr double kAboveHighest = 1.06;

class MeasuredPainter {
  public:
    MeasuredPainter(Canvas& canvas, const MeasuredScene& scene)
        : canvas_(canvas),
          scene_(scene),
          paper_(scene.paper),
          places_(places_of(scene)),
          plot_(places_.plot),
          floor_(plot_.y + plot_.height),
          note_{.size = scene.text_size, .color = paper_.quiet} {}

    void paint() {
        grid();
        canvas_.clip(plot_);
        paint_bands();
        curves();
        failures();
        canvas_.unclip();
        canvas_.line({plot_.x, plot_.y}, {plot_.x, floor_}, {paper_.line, 1.2});
        canvas_.line({plot_.x, floor_}, {plot_.x + plot_.width, floor_}, {paper_.line, 1.2});
        peak();
        cursor();
        if (places_.legend.width > 0) legend();
    }

  private:
    double x_of(double moment) const { return places_.x.at(moment); }
    double y_of(std::int64_t bytes) const { return places_.y.at(static_cast<double>(bytes)); }

    void grid() {
        canvas_.rectangle(plot_, paper_.panel);
        TextStyle style = note_;
        style.align = Align::center;
        double free_from = plot_.x - 4;
        for (const Tick& tick : places_.x.ticks) {
            const double x = x_of(tick.value);
            canvas_.line({x, plot_.y}, {x, floor_}, {paper_.grid, 1});
            const std::string label = filled(say("Picture", "event %1"), {tick.label});
            const double half = canvas_.text_width(label, style) / 2,
                         middle = std::max(x, plot_.x + half - 4);
            if (middle - half < free_from || middle + half > plot_.x + plot_.width + kRightRoom) continue;
            canvas_.text({middle, floor_ + style.size + 6}, label, style);
            free_from = middle + half + 10;
        }
        style.align = Align::right;
        for (const Tick& tick : places_.y.ticks) {
            const double y = places_.y.at(tick.value);
            canvas_.line({plot_.x, y}, {plot_.x + plot_.width, y}, {paper_.grid, 1});
            canvas_.text({plot_.x - 8, y + style.size * 0.35}, tick.label + " " + places_.y.unit, style);
        }
    }

    /// Returns the line along `tops`, from left to right.
    std::vector<Point> outline(const std::vector<std::int64_t>& tops) const {
        std::vector<Point> points;
        for (std::size_t c = 0; c < tops.size(); ++c) {
            const BandColumn& column = scene_.columns.columns[c];
            const double y = y_of(tops[c]);
            points.push_back({x_of(column.begin), y});
            points.push_back({x_of(column.end), y});
        }
        return points;
    }

    void paint_bands() {
        std::vector<std::int64_t> tops(scene_.columns.columns.size(), 0);
        std::vector<Point> below = outline(tops);
        for (std::size_t band = 0; band < scene_.columns.bytes.size(); ++band) {
            const std::vector<std::int64_t>& bytes = scene_.columns.bytes[band];
            if (std::all_of(bytes.begin(), bytes.end(), [](std::int64_t b) { return b == 0; })) continue;
            for (std::size_t c = 0; c < tops.size(); ++c) tops[c] += bytes[c];
            const std::vector<Point> above = outline(tops);
            Path area = line_through(above);
            for (std::size_t i = below.size(); i-- > 0;) area.line_to(below[i]);
            canvas_.begin(scene_.bands.names[band]);
            canvas_.path(area.close(), band_color(band, scene_.bands.names.size(), paper_), {});
            canvas_.end();
            below = above;
        }
    }

    void curves() {
        std::vector<std::int64_t> allocated, reserved;
        for (const BandColumn& column : scene_.columns.columns) {
            allocated.push_back(column.allocated);
            reserved.push_back(column.reserved);
        }
        if (!scene_.bands.device->reserved.empty()) {
            canvas_.begin("reserved");
            canvas_.path(line_through(outline(reserved)), {}, Pen{paper_.data(palette::kPurple), 1.4});
            canvas_.end();
        }
        canvas_.begin("allocated");
        canvas_.path(line_through(outline(allocated)), {}, Pen{paper_.ink, 1.1});
        canvas_.end();
        if (scene_.plan == nullptr || scene_.plan->empty()) return;
        const std::vector<Point> points =
            staircase(*scene_.plan, scene_.plan->back().x, places_.x, places_.y);
        canvas_.begin("plan");
        canvas_.path(line_through(points), {}, Pen{paper_.page, 3.6});
        canvas_.path(line_through(points), {}, Pen{paper_.budget, 1.6, {5, 3}});
        canvas_.end();
    }

    /// Marks, at the top of the plot, the moments at which the allocator ran out of memory.
    void failures() {
        for (const OutOfMemory& failure : scene_.bands.device->failures) {
            const double x = x_of(failure.moment);
            if (x < plot_.x || x > plot_.x + plot_.width) continue;
            canvas_.line({x, plot_.y}, {x, floor_}, {paper_.data(palette::kVermilion), 1});
            canvas_.path(
                Path().move_to({x - 5, plot_.y}).line_to({x + 5, plot_.y}).line_to({x, plot_.y + 9}).close(),
                paper_.data(palette::kVermilion), {});
        }
    }

    void note(Point at, const std::string& text, const TextStyle& style) {
        write_on(canvas_, paper_.panel, at, text, style, 4);
    }

    void peak() {
        const TraceMoment moment = scene_.bands.peak;
        if (moment < scene_.from || moment > scene_.to) return;
        const std::int64_t bytes = scene_.bands.device->allocated[moment];
        const Point at{x_of(moment + 0.5), y_of(bytes)};
        canvas_.rectangle({at.x - 4, at.y - 4, 8, 8}, paper_.data(palette::kBlue), Pen{paper_.page, 1.2}, 4);
        const bool left = at.x > plot_.x + plot_.width / 2;
        const TextStyle style{.size = scene_.text_size,
                              .bold = true,
                              .color = paper_.text(paper_.data(palette::kBlue)),
                              .align = left ? Align::right : Align::left};
        note({at.x + (left ? -8 : 8), std::max(plot_.y + style.size, at.y - 6)},
             filled(say("Picture", "peak %1"), {format_bytes(Bytes(bytes))}), style);
    }

    void cursor() {
        if (!scene_.cursor) return;
        const double x = x_of(*scene_.cursor + 0.5);
        if (x < plot_.x || x > plot_.x + plot_.width) return;
        canvas_.line({x, plot_.y}, {x, floor_}, {paper_.ink, 1.4});
        TextStyle style{.size = scene_.text_size, .color = paper_.ink};
        const std::string text = format_bytes(Bytes(scene_.bands.device->allocated[*scene_.cursor]));
        if (x + 6 + canvas_.text_width(text, style) > plot_.x + plot_.width) style.align = Align::right;
        note({x + (style.align == Align::left ? 6 : -6), floor_ - 6}, text, style);
    }

    void legend() {
        const Rect& rect = places_.legend;
        const double row = scene_.text_size + 8;
        double y = rect.y + scene_.text_size;
        const std::string title =
            scene_.cursor ? filled(say("Picture", "alive after event %1"), {std::to_string(*scene_.cursor)})
                          : say("Picture", "alive at the peak");
        canvas_.text({rect.x, y}, title, {.size = scene_.text_size, .bold = true, .color = paper_.ink});
        // The entries are in the order of the bands in the picture, from the top.
        for (std::size_t band = scene_.bands.names.size(); band-- > 0;) {
            const std::int64_t bytes = scene_.legend ? (*scene_.legend)[band] : 0;
            if (bytes == 0 || y + 4 * row > rect.y + rect.height) continue;
            y += row;
            entry(y, band_color(band, scene_.bands.names.size(), paper_), format_bytes(Bytes(bytes)),
                  scene_.bands.names[band]);
        }
        y += 6;
        line_entry(y += row, {paper_.ink, 1.4}, say("Picture", "allocated, as requested"));
        if (!scene_.bands.device->reserved.empty())
            line_entry(y += row, {paper_.data(palette::kPurple), 1.6}, say("Picture", "reserved"));
        if (!scene_.bands.device->failures.empty())
            line_entry(y += row, {paper_.data(palette::kVermilion), 1.4}, say("Picture", "memory ran out"));
        if (scene_.plan && !scene_.plan->empty())
            line_entry(y += row, {paper_.budget, 1.6, {5, 3}},
                       say("Picture", "the plan, over the step of the peak"));
    }

    void entry(double y, const Color& color, const std::string& bytes, const std::string& name) {
        const Rect& rect = places_.legend;
        canvas_.rectangle({rect.x, y - scene_.text_size + 2, 10, 10}, color, {}, 2);
        canvas_.text({rect.x + 86, y}, bytes,
                     {.size = scene_.text_size, .color = paper_.ink, .align = Align::right});
        const TextStyle style{.size = scene_.text_size, .color = paper_.quiet};
        canvas_.text({rect.x + 94, y}, fitted(canvas_, name, style, rect.width - 94, true), style);
    }

    void line_entry(double y, const Pen& pen, const std::string& name) {
        const Rect& rect = places_.legend;
        canvas_.line({rect.x, y - 4}, {rect.x + 22, y - 4}, pen);
        const TextStyle style{.size = scene_.text_size, .color = paper_.quiet};
        canvas_.text({rect.x + 30, y}, fitted(canvas_, name, style, rect.width - 30), style);
    }

    Canvas& canvas_;
    const MeasuredScene& scene_;
    const palette::Paper& paper_;
    const MeasuredPlaces places_;
    const Rect plot_;
    const double floor_;
    const TextStyle note_;
};

std::int64_t highest_shown(const MeasuredScene& scene) {
    std::int64_t highest = 1;
    for (const BandColumn& column : scene.columns.columns)
        highest = std::max({highest, column.allocated, column.reserved});
    if (scene.plan)
        for (const MemoryPoint& point : *scene.plan) highest = std::max(highest, point.bytes);
    return highest;
}

}  // namespace

Color band_color(std::size_t band, std::size_t bands, const palette::Paper& paper) {
    if (band == 0) return paper.pale(paper.data(palette::kGrey), 0.55);
    if (band + 1 == bands) return paper.pale(paper.data(palette::kGrey), 0.15);
    const Color hue = palette::kCurves[(band - 1) % palette::kCurves.size()];
    return paper.pale(paper.data(hue), 0.35);
}

MeasuredPlaces places_of(const MeasuredScene& scene) {
    const Rect& rect = scene.rect;
    const double legend = rect.width >= kLeastForLegend ? kLegendWidth : 0;
    MeasuredPlaces places;
    places.plot = {rect.x + kNumbersWidth, rect.y + kTopRoomMeasured,
                   std::max(10.0, rect.width - kNumbersWidth - kRightRoom - legend),
                   std::max(10.0, rect.height - kTopRoomMeasured - kAxisHeight)};
    if (legend > 0)
        places.legend = {rect.x + rect.width - legend, places.plot.y, legend - kRightRoom,
                         places.plot.height};
    places.x = count_axis(scene.from, scene.to, "", places.plot.x, places.plot.x + places.plot.width, 8);
    places.y = bytes_axis(0, kAboveHighest * static_cast<double>(highest_shown(scene)),
                          places.plot.y + places.plot.height, places.plot.y, 5);
    return places;
}

void paint_measured(Canvas& canvas, const MeasuredScene& scene) {
    MeasuredPainter(canvas, scene).paint();
}

}  // namespace rematlas
