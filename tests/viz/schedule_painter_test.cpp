#include "viz/paint/schedule_painter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/sizes.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/run_sequence.h"
#include "tests/viz/layered_graph.h"
#include "tests/viz/recording_canvas.h"
#include "viz/paint/layers_painter.h"

namespace rematlas {
namespace {

class SchedulePainters : public testing::Test {
  protected:
    void use(int layers) {
        graph = LayeredGraph::make(layers);
        FlatGraph flat = flatten(graph);
        steps = lower(flat, keep_all_sequence(flat));
        play();
    }
    void play() {
        auto simulation = simulate(graph, steps);
        ASSERT_TRUE(simulation);
        data = lane_data(graph, steps, *simulation, LaneAxis::time);
    }
    ScheduleScene scene() const {
        return {.graph = graph, .steps = steps, .data = data, .rect = {0, 0, 1000, 400}};
    }
    /// Returns the boxes within a lane, without the background of the lane.
    std::vector<RecordingCanvas::Box> bars(const RecordingCanvas& canvas, const ScheduleScene& s,
                                           std::size_t lane) const {
        const Rect rect = places_of(s).lanes[lane];
        std::vector<RecordingCanvas::Box> found;
        for (const RecordingCanvas::Box& box : canvas.boxes)
            if (box.rect.y >= rect.y && box.rect.y + box.rect.height <= rect.y + rect.height + 1e-9 &&
                box.rect.width < rect.width)
                found.push_back(box);
        return found;
    }
    RecordingCanvas painted(const ScheduleScene& s) const {
        RecordingCanvas canvas;
        paint_schedule(canvas, s);
        EXPECT_EQ(canvas.open, 0);
        EXPECT_EQ(canvas.clipped, 0);
        return canvas;
    }

    Graph graph;
    std::vector<Step> steps;
    LaneData data;
};

TEST_F(SchedulePainters, CostPointsOfThePictureAndNotSteps) {
    use(2500);
    ASSERT_GT(data.bars.size(), 20'000u);
    EXPECT_LT(painted(scene()).calls(), 3'500u);
}

TEST_F(SchedulePainters, NeighboursOfAPixelBecomeOneBarThatCoversTheirTime) {
    use(2500);
    // All ops are in one module, and their runs are so close together that the forward pass is one bar.
    for (Op& op : graph.ops) op.module = "m";
    play();
    const ScheduleScene s = scene();
    const SchedulePlaces places = places_of(s);
    double covered = 0;
    for (const RecordingCanvas::Box& box : bars(painted(s), s, 0))
        if (same_hue(*box.fill, palette::kLight.pale(palette::of(Phase::forward), 0.3))) {
            EXPECT_EQ(box.fill->alpha, 1);
            covered += box.rect.width;
        }
    const double forward = 1e6 * (1 + 4 * 2500);
    EXPECT_NEAR(covered, forward / data.length * places.plot.width, 2);
}

TEST_F(SchedulePainters, ShadesByTheShareOfTheColumnsThatRunsTake) {
    use(2500);
    // Each op of the backward pass is followed by another run of the first op. The run of the first op takes
    // a fifth of the time of these two runs.
    for (Op& op : graph.ops)
        if (op.phase == Phase::backward) op.time = Nanoseconds(4'000'000);
    std::vector<Step> with_reruns;
    for (const Step& step : steps) {
        with_reruns.push_back(step);
        if (step.runs() && graph.ops[step.op()].phase == Phase::backward)
            with_reruns.push_back(Step::run(OpId(0)));
    }
    steps = with_reruns;
    play();
    const ScheduleScene s = scene();
    std::size_t shades = 0;
    for (const RecordingCanvas::Box& box : bars(painted(s), s, 1)) {
        EXPECT_GT(box.fill->alpha, 0.1);
        EXPECT_LT(box.fill->alpha, 0.4) << "a fifth must not look like all";
        ++shades;
    }
    EXPECT_GT(shades, 0u);
}

TEST_F(SchedulePainters, ZoomedInEveryRunHasItsBarAndItsName) {
    use(50);
    ScheduleScene s = scene();
    s.from = 0;
    s.to = 5e6;  // an op takes a fifth of the width
    const RecordingCanvas canvas = painted(s);
    EXPECT_TRUE(canvas.says("embedding"));
    EXPECT_TRUE(canvas.says("layer_norm"));
    EXPECT_FALSE(canvas.says("embedding_backward")) << "it runs much later";
    EXPECT_FALSE(canvas.says("aten::")) << "the operator alone is the name";
}

TEST_F(SchedulePainters, ZoomedOutModulesAreNamedAtALevelThatCanBeRead) {
    use(12);
    const RecordingCanvas canvas = painted(scene());
    EXPECT_TRUE(canvas.says("h.3"));
    EXPECT_FALSE(canvas.says("mlp"));
}

TEST_F(SchedulePainters, TheStepWithoutRecomputationIsAGreyCurveWhereItNeedsMore) {
    use(12);
    LaneData plain = data;
    ScheduleScene s = scene();
    s.plain = &plain;
    const std::size_t before = painted(s).paths.size();
    EXPECT_FALSE(painted(s).says("without recomputation")) << "it is the same";
    for (MemoryPoint& point : plain.memory) point.bytes *= 2;
    plain.peak *= 2;
    const RecordingCanvas canvas = painted(s);
    EXPECT_TRUE(canvas.says("without recomputation: "));
    EXPECT_EQ(canvas.paths.size(), before + 2) << "an area and its edge";
    EXPECT_LT(places_of(s).y.at(static_cast<double>(plain.peak)), places_of(s).memory.y + 100);
    for (const RecordingCanvas::Line& line : canvas.paths)
        for (const Path::Piece& piece : line.path.pieces())
            if (piece.verb != Path::Verb::close) {
                EXPECT_GE(piece.points[0].y, 0);
            }
}

TEST_F(SchedulePainters, NotesNeverLieOnEachOther) {
    for (int layers = 2; layers < 12; ++layers) {
        use(layers);
        LaneData plain = data;
        for (const double above : {1.01, 1.03, 1.06, 1.2, 4.0}) {
            plain.peak = static_cast<std::int64_t>(static_cast<double>(data.peak) * above);
            for (const double budget : {1.0, 1.02, 1.1}) {
                ScheduleScene s = scene();
                s.plain = &plain;
                s.budget = Bytes(static_cast<std::int64_t>(static_cast<double>(data.peak) * budget));
                const RecordingCanvas canvas = painted(s);
                std::vector<Rect> notes;
                for (const RecordingCanvas::Text& t : canvas.texts) {
                    const bool is_note = t.text.starts_with("peak ") || t.text.starts_with("without ") ||
                                         t.text.starts_with("budget ");
                    if (!is_note) continue;
                    const double width = canvas.text_width(t.text, t.style);
                    notes.push_back({t.style.align == Align::right ? t.at.x - width : t.at.x,
                                     t.at.y - t.style.size, width, t.style.size});
                }
                for (std::size_t i = 0; i < notes.size(); ++i)
                    for (std::size_t j = 0; j < i; ++j) {
                        const Rect &a = notes[i], &b = notes[j];
                        EXPECT_FALSE(a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
                                     b.y < a.y + a.height)
                            << layers << " layers, " << above << " above, budget " << budget;
                    }
            }
        }
    }
}

TEST_F(SchedulePainters, NoNumberStandsInTheCornerThatIsCovered) {
    use(6);
    ScheduleScene s = scene();
    const auto numbers_below = [&](double y) {
        int found = 0;
        for (const RecordingCanvas::Text& t : painted(s).texts)
            found += t.at.x < places_of(s).plot.x && t.at.y > y;
        return found;
    };
    const double corner = 200;
    ASSERT_GT(numbers_below(s.rect.height - corner), 0);
    s.corner_height = corner;
    EXPECT_EQ(numbers_below(s.rect.height - corner), 0);
}

TEST_F(SchedulePainters, StepsAreCountedAsInFilesAndTables) {
    use(3);
    EXPECT_TRUE(painted(scene()).says(", step " + std::to_string(data.peak_step)));
}

TEST_F(SchedulePainters, ThePartThatIsShownFillsThePicture) {
    use(12);
    ScheduleScene s = scene();
    s.from = data.length / 4;
    s.to = data.length / 2;
    const SchedulePlaces places = places_of(s);
    EXPECT_DOUBLE_EQ(places.x.at(s.from), places.plot.x);
    EXPECT_DOUBLE_EQ(places.x.at(s.to), places.plot.x + places.plot.width);
    for (std::size_t lane = 0; lane < 3; ++lane)
        for (const RecordingCanvas::Box& box : bars(painted(s), s, lane)) {
            EXPECT_GE(box.rect.x, places.plot.x - 1);
            EXPECT_LE(box.rect.x + box.rect.width, places.plot.x + places.plot.width + 1);
        }
}

TEST_F(SchedulePainters, MarksTheSelectionEvenWhereItIsNarrowerThanAPoint) {
    use(2500);
    IdVector<OpId, char> marked(graph.ops.size(), 0);
    marked[OpId(1234)] = 1;
    ScheduleScene s = scene();
    s.marked = &marked;
    std::vector<Rect> marks;
    for (const RecordingCanvas::Box& box : painted(s).boxes)
        if (box.fill && same_hue(*box.fill, s.paper.mark)) marks.push_back(box.rect);
    ASSERT_EQ(marks.size(), 1u);
    EXPECT_GE(marks[0].width, 2);
    EXPECT_NEAR(marks[0].x + marks[0].width / 2, places_of(s).x.at(1234.5e6), 1);
}

TEST_F(SchedulePainters, ThePaperChoosesTheColoursOfGroundAndWords) {
    use(12);
    palette::Paper dark = palette::kLight;
    dark.page = Color::hex(0x101418);
    dark.ink = Color::hex(0xe8ecf0);
    const ScheduleScene light = scene();
    const ScheduleScene s{
        .graph = graph, .steps = steps, .data = data, .rect = {0, 0, 1000, 400}, .paper = dark};
    const RecordingCanvas canvas = painted(s);
    for (const RecordingCanvas::Text& text : canvas.texts)
        EXPECT_FALSE(same_hue(text.style.color, palette::kLight.ink)) << text.text;
    EXPECT_EQ(canvas.texts.size(), painted(light).texts.size());
}

TEST_F(SchedulePainters, LayersOfTheMemoryLieOnEachOtherAndAreNamedWhereTheyAreThick) {
    use(12);
    const MemoryStack stack = memory_stack(graph, steps, module_groups(graph));
    ASSERT_GE(stack.size(), 3u);
    ScheduleScene s = scene();
    s.stack = &stack;
    const RecordingCanvas canvas = painted(s);
    for (std::size_t i = 0; i < stack.size(); ++i) {
        EXPECT_TRUE(std::count(canvas.tooltips.begin(), canvas.tooltips.end(), stack[i].name)) << i;
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_FALSE(same_hue(layer_color(stack, i, s.paper), layer_color(stack, j, s.paper)))
                << i << ' ' << j;
    }
    EXPECT_TRUE(std::any_of(canvas.texts.begin(), canvas.texts.end(),
                            [&](const RecordingCanvas::Text& text) { return text.text == stack[1].name; }));
}

TEST_F(SchedulePainters, AStepThatNeedsMuchMoreIsCutOffSoThatThePlanCanBeRead) {
    use(12);
    LaneData plain = data;
    for (MemoryPoint& point : plain.memory) point.bytes *= 20;
    plain.peak *= 20;
    ScheduleScene s = scene();
    s.plain = &plain;
    const SchedulePlaces places = places_of(s);
    EXPECT_GT(places.y.at(0) - places.y.at(static_cast<double>(data.peak)), places.memory.height / 3);
    const RecordingCanvas canvas = painted(s);
    EXPECT_TRUE(std::any_of(canvas.texts.begin(), canvas.texts.end(), [&](const RecordingCanvas::Text& text) {
        return text.text == "without recomputation: up to " + format_bytes(Bytes(plain.peak)) &&
               text.at.y > places.memory.y;
    }));
}

TEST_F(SchedulePainters, TheHostHasAScaleOfItsOwnBelowTheDevice) {
    use(3);
    const SchedulePlaces without = places_of(scene());
    EXPECT_EQ(without.host.height, 0);
    graph.device = Device{"test", Bytes(0), 1e10, 1e10};
    const TensorId sent = graph.ops[OpId(2)].outputs.front();
    const auto run = std::find(steps.begin(), steps.end(), Step::run(OpId(2)));
    steps.insert(run + 1, Step::offload(sent));
    play();
    ScheduleScene s = scene();
    s.host_budget = Bytes(3 << 19);
    const SchedulePlaces places = places_of(s);
    EXPECT_GT(places.host.height, 20);
    EXPECT_GE(places.host.y, places.memory.y + places.memory.height);
    EXPECT_DOUBLE_EQ(places.host.y + places.host.height, places.plot.y + places.plot.height);
    EXPECT_DOUBLE_EQ(places.host_y.at(0), places.plot.y + places.plot.height);
    EXPECT_DOUBLE_EQ(places.y.at(0), places.memory.y + places.memory.height);
    const RecordingCanvas canvas = painted(s);
    EXPECT_TRUE(canvas.says("on the host: at most 1.00 MiB"));
    EXPECT_TRUE(canvas.says("budget 1.50 MiB"));
    bool line = false;
    for (const RecordingCanvas::Line& drawn : canvas.paths)
        line |= drawn.pen && same_hue(drawn.pen->color, s.paper.budget) &&
                std::abs(drawn.path.pieces()[0].points[0].y - places.host_y.at(3 << 19)) < 1e-6;
    EXPECT_TRUE(line);
    s.rect.height = 190;
    EXPECT_EQ(places_of(s).host.height, 0) << "where there is no room for both, the device has it";
    EXPECT_FALSE(painted(s).says("on the host"));
}

TEST_F(SchedulePainters, TheBudgetOfALargeCardDoesNotFlattenTheCurve) {
    use(6);
    ScheduleScene s = scene();
    s.budget = Bytes(data.peak * 100);
    const SchedulePlaces places = places_of(s);
    const double top = places.y.at(static_cast<double>(data.peak));
    EXPECT_GT(places.memory.y + places.memory.height - top, places.memory.height / 3);
    EXPECT_TRUE(painted(s).says("budget " + format_bytes(s.budget))) << "it is told where it cannot be drawn";
}

TEST_F(SchedulePainters, NoBarIsNamedByANumberAlone) {
    use(60);
    for (Op& op : graph.ops)
        if (!op.module.empty() && op.module != "embed")
            op.module = op.module.substr(0, op.module.find('.', 2)) + ".mlp.2";
    play();
    for (const double width : {400.0, 900.0, 2000.0, 6000.0}) {
        ScheduleScene s = scene();
        s.rect.width = width;
        for (const RecordingCanvas::Text& text : painted(s).texts)
            EXPECT_NE(text.text, "2") << "of which module, at " << width;
    }
}

}  // namespace
}  // namespace rematlas
