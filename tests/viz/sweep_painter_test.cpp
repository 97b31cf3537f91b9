#include "viz/paint/sweep_painter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "core/costs/link_profile.h"
#include "core/planning/registry.h"
#include "tests/viz/recording_canvas.h"
#include "viz/paint/sweep_curves.h"

namespace rematlas {
namespace {

SweepPoint found(int peak_mib, double overhead) {
    return {Bytes((peak_mib + 1) << 20), "feasible", Bytes(peak_mib << 20), overhead, {}, {}};
}

class SweepPainters : public testing::Test {
  protected:
    SweepScene scene() const {
        return {.sweep = sweep,
                .keep_all = Bytes(100 << 20),
                .least = Bytes(20 << 20),
                .rect = {0, 0, 600, 400},
                .legend_above = true};
    }
    RecordingCanvas painted(const SweepScene& s) const {
        RecordingCanvas canvas;
        paint_sweep(canvas, s);
        EXPECT_EQ(canvas.open, 0);
        EXPECT_EQ(canvas.clipped, 0);
        return canvas;
    }

    Sweep sweep{"graph",
                "",
                {{"atlas", {found(30, 1.2), found(60, 1.1), found(70, 1.15), found(90, 1.0)}},
                 {"chen-sqrt", {found(50, 1.3), {Bytes(5), "infeasible", Bytes(0), 0, {}, {}}}}}};
    RecordingCanvas ruler;
};

TEST_F(SweepPainters, EveryScheduleThatWasFoundHasItsPlace) {
    const std::vector<SweepMarker> markers = sweep_markers(scene(), ruler);
    ASSERT_EQ(markers.size(), 5u) << "those that others beat too, for they can be clicked";
    const SweepPlaces places = places_of(scene(), ruler);
    for (const SweepMarker& marker : markers) {
        const SweepPoint& point = sweep.curves[marker.curve].points[marker.point];
        EXPECT_DOUBLE_EQ(marker.at.x, places.x.at(static_cast<double>(point.peak.value)));
        EXPECT_DOUBLE_EQ(marker.at.y, places.y.at(point.overhead));
    }
}

TEST_F(SweepPainters, WhatTakesLessTimeThanTheStepLiesInThePlot) {
    EXPECT_EQ(whole_range(scene()).fastest, 1);
    sweep.curves[0].points.push_back(found(95, 0.995));
    const SweepPlaces places = places_of(scene(), ruler);
    EXPECT_LT(places.y.low, 0.995);
    for (const SweepMarker& marker : sweep_markers(scene(), ruler))
        EXPECT_LT(marker.at.y, places.plot.y + places.plot.height);
    EXPECT_TRUE(std::any_of(places.y.ticks.begin(), places.y.ticks.end(),
                            [](const Tick& tick) { return tick.label == "0 %"; }));
}

TEST_F(SweepPainters, ACurveIsAStaircaseThroughItsBestSchedules) {
    const RecordingCanvas canvas = painted(scene());
    const SweepPlaces places = places_of(scene(), ruler);
    std::vector<const Path*> curves;
    for (const RecordingCanvas::Line& line : canvas.paths)
        if (line.pen && line.pen->width == 1.8 && line.path.pieces().size() > 2) curves.push_back(&line.path);
    ASSERT_EQ(curves.size(), 1u);
    for (std::size_t i = 1; i < curves[0]->pieces().size(); ++i) {
        const Point a = curves[0]->pieces()[i - 1].points[0], b = curves[0]->pieces()[i].points[0];
        EXPECT_TRUE(a.x == b.x || a.y == b.y);
        EXPECT_GE(b.x, a.x);
        EXPECT_GE(b.y, a.y) << "more memory never costs time";
    }
    EXPECT_DOUBLE_EQ(curves[0]->pieces().back().points[0].x, places.x.at(100 << 20));
}

TEST_F(SweepPainters, ShowsTheBudgetAndThePlanWhereTheyAre) {
    SweepScene s = scene();
    s.budget = Bytes(55 << 20);
    s.shown = SweepSpot{Bytes(50 << 20), 1.12};
    const RecordingCanvas canvas = painted(s);
    const SweepPlaces places = places_of(s, ruler);
    bool budget = false, shown = false;
    for (const RecordingCanvas::Line& line : canvas.paths)
        if (line.pen && same_hue(line.pen->color, s.paper.budget))
            budget |= line.path.pieces()[0].points[0].x == places.x.at(55 << 20);
    for (const RecordingCanvas::Box& box : canvas.boxes)
        if (box.fill && same_hue(*box.fill, s.paper.mark)) {
            EXPECT_NEAR(box.rect.x + box.rect.width / 2, places.x.at(50 << 20), 1e-6);
            EXPECT_NEAR(box.rect.y + box.rect.height / 2, places.y.at(1.12), 1e-6);
            shown = true;
        }
    EXPECT_TRUE(budget);
    EXPECT_TRUE(shown);
    EXPECT_TRUE(canvas.says("budget "));
}

TEST_F(SweepPainters, WhatLiesOutsideTheShownPartIsNotThere) {
    SweepScene s = scene();
    s.range = SweepRange{55.0 * (1 << 20), 95.0 * (1 << 20), 1, 1.2};
    for (const SweepMarker& marker : sweep_markers(s, ruler)) {
        EXPECT_EQ(marker.curve, 0);
        EXPECT_GT(marker.point, 0);
    }
    EXPECT_EQ(sweep_markers(s, ruler).size(), 3u);
    EXPECT_FALSE(painted(s).says("no recomputation"));
}

TEST_F(SweepPainters, TheLegendTakesRowsAboveOrABoxBeside) {
    SweepScene s = scene();
    const SweepPlaces above = places_of(s, ruler);
    EXPECT_LE(above.legend.y + above.legend.height, above.plot.y);
    s.legend_above = false;
    const SweepPlaces beside = places_of(s, ruler);
    EXPECT_GE(beside.legend.x, beside.plot.x + beside.plot.width);
    EXPECT_LT(beside.plot.width, above.plot.width);
    for (bool is_above : {true, false}) {
        s.legend_above = is_above;
        EXPECT_TRUE(painted(s).says("chen-sqrt"));
    }
}

/// Returns the pen of the curve whose line starts at `start`; nullopt if there is no such curve.
std::optional<Pen> pen_of(const RecordingCanvas& canvas, Point start) {
    for (const RecordingCanvas::Line& line : canvas.paths)
        if (line.pen && line.pen->width == 1.8 && line.path.pieces()[0].points[0] == start &&
            line.path.pieces().size() > 1)
            return line.pen;
    return {};
}

TEST_F(SweepPainters, TheCurvesOfASolverHaveOneColourAndADashForWhatTheyMayCopy) {
    const Links pcie = *links_named("pcie4");
    sweep.curves = {
        {"atlas", {found(30, 1.2), found(60, 1.1)}},
        {"atlas", {found(31, 1.15), found(60, 1.05)}, {.what = Offload::activations, .links = pcie}},
        {"atlas", {found(32, 1.12), found(60, 1.02)}, {.what = Offload::all, .links = pcie}}};
    for (const SweepCurve& curve : sweep.curves) EXPECT_EQ(curve_look(curve), curve_look(sweep.curves[0]));
    const RecordingCanvas canvas = painted(scene());
    const SweepPlaces places = places_of(scene(), ruler);
    std::set<std::vector<double>> dashes;
    for (const SweepCurve& curve : sweep.curves) {
        const SweepPoint& first = curve.points[0];
        const auto pen =
            pen_of(canvas, {places.x.at(static_cast<double>(first.peak.value)), places.y.at(first.overhead)});
        ASSERT_TRUE(pen);
        dashes.insert(pen->dash);
    }
    EXPECT_EQ(dashes.size(), 3u);
    EXPECT_EQ(dashes.count({}), 1u) << "without copies it is solid";
    EXPECT_TRUE(canvas.says("atlas with copies of activations over PCI Express 4.0 x16"));
    EXPECT_TRUE(canvas.says("atlas with copies of activations and weights over PCI Express 4.0 x16"));
    EXPECT_TRUE(canvas.says("recomputation and copies"));
}

TEST_F(SweepPainters, WhatIsProvenWithoutCopiesIsNotSaidOfSchedulesWithThem) {
    SweepPoint without = found(30, 1.2), with = found(30, 1.05);
    without.bound = Bound{1.15, 0, ScheduleClass::any_order};
    with.bound = Bound{1.04, 0, ScheduleClass::with_activation_copies};
    sweep.curves = {{"atlas", {without}}, {"atlas", {with}, {.what = Offload::activations}}};
    const std::vector<BoundCurve> bounds = bound_curves(sweep);
    ASSERT_EQ(bounds.size(), 2u);
    EXPECT_EQ(bounds[0].steps[0].overhead, 1.15);
    EXPECT_EQ(bounds[1].what, Offload::activations);
    EXPECT_EQ(bounds[1].steps[0].overhead, 1.04);
    const RecordingCanvas canvas = painted(scene());
    EXPECT_TRUE(canvas.says("proven lower bound with copies of activations"));
}

TEST_F(SweepPainters, ASolverLooksTheSameInEverySweepAndUnlikeTheOthers) {
    std::set<std::size_t> colors{curve_look({"a solver that is not known", {}}) % palette::kCurves.size()};
    for (const SolverEntry* solver : all_solvers())
        colors.insert(curve_look({std::string(solver->traits.name), {}}) % palette::kCurves.size());
    EXPECT_EQ(colors.size(), all_solvers().size() + 1);
    std::set<std::tuple<double, double, double>> shades;
    for (const Color& color : palette::kCurves) shades.insert({color.red, color.green, color.blue});
    EXPECT_EQ(shades.size(), palette::kCurves.size());
}

}  // namespace
}  // namespace rematlas
