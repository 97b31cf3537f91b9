// Draws a row for each card. The row has a bar for each way to run the step: as it is, with recomputation,
// and with offloading. The bar shows the memory that the step takes.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/sizes.h"
#include "core/planning/fits_file.h"
#include "viz/paint/axis.h"
#include "viz/paint/painters.h"

namespace rematlas {

namespace {

using namespace palette;

constexpr double kFitsWidth = 1040, kFitsTop = 96, kFitsBottom = 44;
constexpr double kCardNames = 216, kCardWords = 170;  // room left and right of the bars
constexpr double kWayBar = 9, kWayGap = 3, kCardGap = 14;
constexpr double kNoticed = 0.0005;  // a difference in time below this share is not shown
constexpr double kMostShown = 1.6;   // as a multiple of the memory of the largest card; longer bars are cut
                                     // off

struct WayStyle {
    std::string_view name, text;
    Color color;
};
constexpr std::array<WayStyle, 3> kWays{{{"plain", "as it is", kGrey},
                                         {"recompute", "recomputed", kVermilion},
                                         {"offload", "offloaded", kPurple}}};

const WayStyle& style_of(const FitsWay& way) {
    return *std::find_if(kWays.begin(), kWays.end(),
                         [&](const WayStyle& style) { return style.name == way.name; });
}

double row_height(const FitsCard& card) {
    return static_cast<double>(card.ways.size()) * (kWayBar + kWayGap) + kCardGap;
}

/// Returns the bytes that the bar of a way to run the step shows: the peak if the step fits, else the bytes
/// that the step needs.
Bytes shown_bytes(const FitsWay& way) {
    return way.fits ? way.peak.value_or(Bytes()) : way.needed.value_or(way.peak.value_or(Bytes()));
}

std::string cost_of(double overhead) {
    return std::abs(overhead - 1) < kNoticed ? "no more time" : format_overhead(overhead);
}

std::string words_of(const FitsWay& way, const FitsAnswer& fits) {
    std::string words;
    if (way.fits)
        words = format_bytes(shown_bytes(way)) + ", " + cost_of(way.overhead.value_or(1));
    else if (way.overhead)
        words = "too slow: " + format_overhead(*way.overhead);
    else if (shown_bytes(way) > Bytes())
        words = "does not fit: " + format_bytes(shown_bytes(way));
    else
        words = "does not fit";
    if (fits.varies.empty() || !way.largest) return words;
    words += "; " + fits.varies + " " + std::to_string(*way.largest);
    if (way.largest_overhead) words += " at " + format_overhead(*way.largest_overhead);
    return words;
}

class FitsPainter {
  public:
    FitsPainter(Canvas& canvas, const FitsAnswer& fits) : canvas_(canvas), fits_(fits) {
        Bytes most;
        for (const FitsCard& card : fits.cards) most = std::max(most, card.memory);
        Bytes shown = most;
        for (const FitsCard& card : fits.cards)
            for (const FitsWay& way : card.ways) shown = std::max(shown, shown_bytes(way));
        const double high =
            std::min(static_cast<double>(shown.value) * 1.02, static_cast<double>(most.value) * kMostShown);
        axis_ = bytes_axis(0, std::max(high, 1.0), kCardNames, kFitsWidth - kCardWords, 8);
    }

    void paint(double height) {
        header();
        grid(height);
        double y = kFitsTop;
        for (const FitsCard& card : fits_.cards) {
            row(card, y);
            y += row_height(card);
        }
    }

  private:
    void header() {
        TextStyle title{.size = 16, .bold = true};
        const std::string name = fits_.name.empty() ? "A training step" : fits_.name;
        canvas_.text({24, 34}, fitted(canvas_, name + ": on which cards it fits", title, kFitsWidth - 48),
                     title);
        canvas_.text(
            {24, 54},
            "A frame is the memory of a card, a bar what the step takes of it; a pale bar does not fit. "
            "Percentages: time more than as it is.",
            kNote);
        double x = kCardNames;
        for (const WayStyle& way : kWays) {
            if (!is_asked(way.name)) continue;
            canvas_.rectangle({x, 68, 12, kWayBar}, way.color, {}, 2);
            canvas_.text({x + 17, 77}, way.text, kNote);
            x += 110;
        }
    }

    bool is_asked(std::string_view name) const {
        const std::vector<FitsWay>& ways = fits_.cards.front().ways;
        return std::any_of(ways.begin(), ways.end(), [&](const FitsWay& way) { return way.name == name; });
    }

    void grid(double height) {
        const double bottom = height - kFitsBottom;
        for (const Tick& tick : axis_.ticks) {
            const double x = axis_.at(tick.value);
            canvas_.line({x, kFitsTop - 6}, {x, bottom}, Pen{kLight.grid, 1});
            TextStyle style = kNote;
            style.align = Align::center;
            canvas_.text({x, bottom + 16}, tick.label, style);
        }
        TextStyle unit = kNote;
        unit.align = Align::right;
        canvas_.text({kCardNames - 10, bottom + 16}, axis_.unit, unit);
    }

    double cut(Bytes bytes) const { return axis_.at(std::min(static_cast<double>(bytes.value), axis_.high)); }

    void row(const FitsCard& card, double y) {
        const double height = row_height(card) - kCardGap + kWayGap;
        TextStyle name{.size = 11, .bold = true};
        const std::string shown = fitted(canvas_, card.name, name, kCardNames - 40);
        canvas_.begin(card.name + ": " + format_bytes(card.memory));
        canvas_.text({24, y + 11}, shown, name);
        canvas_.text({24, y + 25}, format_bytes(card.memory), kNote);
        canvas_.rectangle({kCardNames, y - kWayGap, cut(card.memory) - kCardNames, height + kWayGap},
                          kLight.panel, Pen{kLight.line, 1}, 2);
        canvas_.end();
        for (const FitsWay& way : card.ways) {
            bar(card, way, y);
            y += kWayBar + kWayGap;
        }
    }

    void bar(const FitsCard& card, const FitsWay& way, double y) {
        const WayStyle& style = style_of(way);
        const std::string words = words_of(way, fits_);
        canvas_.begin(card.name + ", " + std::string(style.text) + ": " + words);
        const double end = cut(shown_bytes(way));
        if (way.fits)
            canvas_.rectangle({kCardNames, y, end - kCardNames, kWayBar}, style.color, {}, 2);
        else if (end > kCardNames)
            canvas_.rectangle({kCardNames, y, end - kCardNames, kWayBar}, style.color.tint(0.75),
                              Pen{style.color.tint(0.3), 1, {3, 2}}, 2);
        TextStyle text{.size = 9, .color = way.fits ? kLight.ink : kLight.quiet};
        canvas_.text({kFitsWidth - kCardWords + 10, y + kWayBar - 1},
                     fitted(canvas_, words, text, kCardWords - 20), text);
        canvas_.end();
    }

    Canvas& canvas_;
    const FitsAnswer& fits_;
    Axis axis_;
};

}  // namespace

Result<std::string> draw_fits(const FitsAnswer& fits, PictureFormat format) {
    double height = kFitsTop + kFitsBottom;
    for (const FitsCard& card : fits.cards) height += row_height(card);
    auto canvas = make_canvas(format, {kFitsWidth, height}, fits.name);
    FitsPainter(*canvas, fits).paint(height);
    return canvas->finish();
}

}  // namespace rematlas
