#include "viz/paint/run_painter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "viz/paint/words.h"

namespace rematlas {
namespace {

constexpr double kRunNumbers = 84, kRunAxis = 24, kRunRight = 14, kRunLegend = 26, kRunGap = 10;
constexpr double kTimesShare = 0.28;   // share of the height for the times
constexpr double kRunHeadroom = 1.06;  // height of the plot, as a multiple of the highest bar
constexpr double kFarBudget = 2.5;     // as a multiple of the highest peak; the scale omits a higher budget
constexpr double kLongStep = 4;        // as a multiple of the median time; longer bars are cut off there
constexpr double kNanosecondsOfASecond = 1e9;

/// The runners, sorted by how important it is that users notice them.
constexpr std::array kByNotice = {StepRunner::original, StepRunner::evicted, StepRunner::recorded,
                                  StepRunner::compared, StepRunner::plan,    StepRunner::evaluated};

std::size_t notice_of(StepRunner runner) {
    return static_cast<std::size_t>(std::find(kByNotice.begin(), kByNotice.end(), runner) -
                                    kByNotice.begin());
}

Axis peaks_axis(const RunScene& scene, const Rect& area) {
    Bytes highest;
    for (const RunColumn& column : scene.columns) {
        highest = std::max(highest, scene.run.steps[column.shown].peak);
        highest = std::max(highest, column.planned.value_or(Bytes()));
    }
    auto high = static_cast<double>(highest.value);
    if (scene.run.budget) {
        const auto budget = static_cast<double>(scene.run.budget->value);
        if (budget < kFarBudget * high || high == 0) high = std::max(high, budget);
    }
    return bytes_axis(0, high * kRunHeadroom, area.y + area.height, area.y,
                      std::max(2, static_cast<int>(area.height / 44)));
}

Axis times_axis(const RunScene& scene, const Rect& area) {
    std::vector<double> slowest;
    for (const RunColumn& column : scene.columns) slowest.push_back(column.slowest * kNanosecondsOfASecond);
    double high = 0;
    if (!slowest.empty()) {
        const auto middle = slowest.begin() + static_cast<std::ptrdiff_t>(slowest.size() / 2);
        std::nth_element(slowest.begin(), middle, slowest.end());
        high = std::min(*middle * kLongStep, *std::max_element(slowest.begin(), slowest.end()));
    }
    return time_axis(0, high * kRunHeadroom, area.y + area.height, area.y,
                     std::max(1, static_cast<int>(area.height / 30)));
}

class RunPainter {
  public:
    RunPainter(Canvas& canvas, const RunScene& scene)
        : canvas_(canvas),
          scene_(scene),
          paper_(scene.paper),
          places_(places_of(scene)),
          note_{.size = scene.text_size, .color = paper_.quiet} {}

    void paint() {
        legend();
        grid(places_.peaks, places_.bytes);
        grid(places_.times, places_.time);
        step_numbers();
        canvas_.clip(places_.peaks);
        peaks();
        planned();
        cursor(places_.peaks);
        canvas_.unclip();
        budget();
        canvas_.clip(places_.times);
        times();
        cursor(places_.times);
        canvas_.unclip();
    }

  private:
    double width_of(const RunColumn& column) const {
        const double width = places_.steps.at(static_cast<double>(column.end)) -
                             places_.steps.at(static_cast<double>(column.begin));
        return width > 4 ? width - 1 : width;
    }

    void legend() {
        std::array<bool, kStepRunners> is_there{};
        for (const RunColumn& column : scene_.columns) is_there[notice_of(column.by)] = true;
        double x = places_.peaks.x;
        const double y = scene_.rect.y + kRunLegend / 2;
        for (std::size_t i = kByNotice.size(); i-- > 0;) {
            if (!is_there[i]) continue;
            const std::string words = runner_words(kByNotice[i]);
            const double width = canvas_.text_width(words, note_) + 34;
            if (x + width > places_.peaks.x + places_.peaks.width) return;
            canvas_.rectangle({x, y - 5, 12, 10}, color_of(kByNotice[i], paper_), {}, 2);
            canvas_.text({x + 17, y + note_.size * 0.35}, words, note_);
            x += width;
        }
    }

    void grid(const Rect& area, const Axis& axis) {
        canvas_.rectangle(area, paper_.panel);
        TextStyle style = note_;
        style.align = Align::right;
        for (const Tick& tick : axis.ticks) {
            const double y = axis.at(tick.value);
            canvas_.line({area.x, y}, {area.x + area.width, y}, {paper_.grid, 1});
            canvas_.text({area.x - 8, y + style.size * 0.35}, tick.label + " " + axis.unit, style);
        }
        canvas_.line({area.x, area.y + area.height}, {area.x + area.width, area.y + area.height},
                     {paper_.line, 1.2});
    }

    /// Returns the number of the step at a tick. The number differs from the step's index if lines of the
    /// file were skipped before the step.
    std::string number_at(const Tick& tick) const {
        const auto at = static_cast<std::size_t>(std::max(0.0, tick.value));
        if (at >= scene_.run.steps.size() || scene_.run.steps[at].number == at) return tick.label;
        return std::to_string(scene_.run.steps[at].number);
    }

    void step_numbers() {
        TextStyle style = note_;
        style.align = Align::center;
        const double y = places_.times.y + places_.times.height + style.size + 6;
        double free_from = places_.times.x - 20;
        for (const Tick& tick : places_.steps.ticks) {
            const double x = places_.steps.at(tick.value);
            const std::string label = filled(say("Picture", "step %1"), {number_at(tick)});
            const double half = canvas_.text_width(label, style) / 2;
            if (x - half < free_from || x + half > places_.times.x + places_.times.width + kRunRight)
                continue;
            canvas_.text({x, y}, label, style);
            free_from = x + half + 10;
        }
    }

    void bar(const Rect& area, const RunColumn& column, double top) {
        const double x = places_.steps.at(static_cast<double>(column.begin)), floor = area.y + area.height;
        const double y = std::max(top, area.y);
        canvas_.rectangle({x, y, width_of(column), floor - y}, color_of(column.by, paper_));
    }

    void peaks() {
        for (const RunColumn& column : scene_.columns) {
            const auto peak = static_cast<double>(scene_.run.steps[column.shown].peak.value);
            bar(places_.peaks, column, places_.bytes.at(peak));
        }
    }

    /// Paints a line for each stretch of steps whose plans predict the same peak.
    void planned() {
        const Pen pen{paper_.ink, 1.4};
        for (std::size_t i = 0; i < scene_.columns.size();) {
            const RunColumn& first = scene_.columns[i];
            std::size_t end = i + 1;
            while (end < scene_.columns.size() && scene_.columns[end].planned == first.planned) ++end;
            if (first.planned) {
                const double y = places_.bytes.at(static_cast<double>(first.planned->value));
                const double last = static_cast<double>(scene_.columns[end - 1].end);
                canvas_.begin(say("Picture", "what the plan foretells"));
                canvas_.line({places_.steps.at(static_cast<double>(first.begin)), y},
                             {places_.steps.at(last), y}, pen);
                canvas_.end();
            }
            i = end;
        }
    }

    void times() {
        for (const RunColumn& column : scene_.columns)
            bar(places_.times, column, places_.time.at(column.slowest * kNanosecondsOfASecond));
    }

    void budget() {
        if (!scene_.run.budget) return;
        const Rect& area = places_.peaks;
        const double y = places_.bytes.at(static_cast<double>(scene_.run.budget->value));
        if (y < area.y) return;
        canvas_.line({area.x, y}, {area.x + area.width, y}, {paper_.budget, 1.4, {5, 3}});
        TextStyle style = note_;
        style.color = paper_.budget;
        style.align = Align::right;
        const double baseline = y - area.y < style.size + 8 ? y + style.size + 4 : y - 5;
        write_on(canvas_, paper_.panel, {area.x + area.width - 6, baseline}, say("Picture", "budget"), style,
                 4);
    }

    void cursor(const Rect& area) {
        if (!scene_.cursor) return;
        const double x = places_.steps.at(static_cast<double>(*scene_.cursor) + 0.5);
        canvas_.line({x, area.y}, {x, area.y + area.height}, {paper_.page, 3});
        canvas_.line({x, area.y}, {x, area.y + area.height}, {paper_.ink, 1.2});
    }

    Canvas& canvas_;
    const RunScene& scene_;
    const palette::Paper& paper_;
    RunPlaces places_;
    TextStyle note_;
};

}  // namespace

std::vector<RunColumn> run_columns(const RunSteps& run, double from, double to, std::size_t most) {
    std::vector<RunColumn> columns;
    const std::size_t count = run.steps.size();
    const auto begin = static_cast<std::size_t>(std::max(0.0, std::floor(from)));
    const std::size_t end = std::min(count, static_cast<std::size_t>(std::max(0.0, std::ceil(to))));
    if (begin >= end) return columns;
    const std::size_t length = (end - begin + most - 1) / std::max<std::size_t>(1, most);
    for (std::size_t first = begin / length * length; first < end; first += length) {
        RunColumn column{.begin = first, .end = std::min(first + length, count), .shown = first};
        for (std::size_t i = column.begin; i < column.end; ++i) {
            const RunStep& step = run.steps[i];
            if (step.peak > run.steps[column.shown].peak) column.shown = i;
            if (notice_of(step.by) < notice_of(column.by)) column.by = step.by;
            column.slowest = std::max(column.slowest, step.seconds);
            if (step.planned_peak)
                column.planned = std::max(*step.planned_peak, column.planned.value_or(Bytes()));
        }
        columns.push_back(column);
    }
    return columns;
}

RunPlaces places_of(const RunScene& scene) {
    const Rect& rect = scene.rect;
    const double left = rect.x + kRunNumbers, width = std::max(10.0, rect.width - kRunNumbers - kRunRight);
    const double height = std::max(20.0, rect.height - kRunLegend - kRunAxis - kRunGap);
    RunPlaces places;
    places.peaks = {left, rect.y + kRunLegend, width, height * (1 - kTimesShare)};
    places.times = {left, places.peaks.y + places.peaks.height + kRunGap, width, height * kTimesShare};
    places.steps =
        count_axis(scene.from, scene.to, "", left, left + width, std::max(2, static_cast<int>(width / 110)));
    places.bytes = peaks_axis(scene, places.peaks);
    places.time = times_axis(scene, places.times);
    return places;
}

void paint_run(Canvas& canvas, const RunScene& scene) {
    RunPainter(canvas, scene).paint();
}

Color color_of(StepRunner runner, const palette::Paper& paper) {
    using namespace palette;
    constexpr std::array<Color, kStepRunners> colors{kBlue, kVermilion, kOrange, kPurple, kSky, kGrey};
    return paper.data(colors[static_cast<std::size_t>(runner)]);
}

std::string runner_words(StepRunner runner) {
    switch (runner) {
        case StepRunner::plan:
            return say("Picture", "a plan");
        case StepRunner::original:
            return say("Picture", "the original");
        case StepRunner::evicted:
            return say("Picture", "online eviction");
        case StepRunner::recorded:
            return say("Picture", "the original, recorded");
        case StepRunner::compared:
            return say("Picture", "the original, compared");
        case StepRunner::evaluated:
            return say("Picture", "without gradients");
    }
    return {};
}

}  // namespace rematlas
