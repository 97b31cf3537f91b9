// Draws each scene on the window's canvas and as PNG, and compares the two pictures with each other and with
// the picture in golden/. Only a few pixels may differ, at edges and in letters. With REMATLAS_RECORD=1 the
// pictures in golden/ are written anew.
#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>
#include <cstdlib>
#include <functional>

#include "app/explorer/loaded/loaded_schedule.h"
#include "app/explorer/look/qt_canvas.h"
#include "app/explorer/models/lifetime_rows.h"
#include "app/explorer/words/qt_ruler.h"
#include "tests/app/explorer/training_chain.h"
#include "viz/paint/blocks_painter.h"
#include "viz/paint/compare_painter.h"
#include "viz/paint/flame_painter.h"
#include "viz/paint/overview_painter.h"
#include "viz/paint/schedule_painter.h"
#include "viz/paint/sweep_painter.h"

namespace rematlas::explorer {
namespace {

using Draw = std::function<void(Canvas&)>;

QImage on_window_canvas(Size size, const Draw& draw) {
    QImage image(static_cast<int>(size.width) * 2, static_cast<int>(size.height) * 2, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.scale(2, 2);  // a PNG has two pixels per point
    QtCanvas canvas(painter);
    draw(canvas);
    return image;
}

QImage as_png(Size size, const Draw& draw) {
    auto canvas = make_canvas(PictureFormat::png, size, "test");
    draw(*canvas);
    const Result<std::string> bytes = canvas->finish();
    EXPECT_TRUE(bytes);
    return QImage::fromData(QByteArray::fromStdString(*bytes), "PNG").convertToFormat(QImage::Format_RGB32);
}

struct Difference {
    double mean = 0;     ///< mean difference of all channels of all pixels, from 0 to 255
    double far = 0;      ///< share of the pixels with a channel that differs by more than a quarter of its
                         ///< range
    double painted = 0;  ///< share of pixels that are not white
};

Difference difference(const QImage& a, const QImage& b) {
    Difference sum;
    for (int y = 0; y < a.height(); ++y) {
        for (int x = 0; x < a.width(); ++x) {
            const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
            const int channels[] = {std::abs(qRed(p) - qRed(q)), std::abs(qGreen(p) - qGreen(q)),
                                    std::abs(qBlue(p) - qBlue(q))};
            int most = 0;
            for (int channel : channels) {
                sum.mean += channel;
                most = std::max(most, channel);
            }
            sum.far += most > 64 ? 1 : 0;
            sum.painted += p != qRgb(255, 255, 255) ? 1 : 0;
        }
    }
    const double pixels = static_cast<double>(a.width()) * a.height();
    return {sum.mean / pixels / 3, sum.far / pixels, sum.painted / pixels};
}

/// Saves the picture for people to look at, if REMATLAS_KEEP_PICTURES names a folder.
void keep(const QImage& image, const char* name, const char* canvas) {
    const QByteArray folder = qgetenv("REMATLAS_KEEP_PICTURES");
    if (!folder.isEmpty()) image.save(QString("%1/%2_%3.png").arg(QString(folder), name, canvas));
}

void expect_golden(const char* name, const QImage& image) {
    const QString path = QString(REMATLAS_SOURCE_DIR "/tests/app/explorer/golden/%1.png").arg(name);
    if (!qgetenv("REMATLAS_RECORD").isEmpty()) {
        ASSERT_TRUE(image.save(path)) << path.toStdString();
    }
    const QImage golden = QImage(path).convertToFormat(QImage::Format_RGB32);
    ASSERT_EQ(golden.size(), image.size()) << path.toStdString();
    const Difference found = difference(image, golden);
    EXPECT_LT(found.mean, 0.7) << path.toStdString();
    EXPECT_LT(found.far, 0.004) << path.toStdString();
}

void expect_same(const char* name, Size size, const Draw& draw) {
    const QImage window = on_window_canvas(size, draw), file = as_png(size, draw);
    keep(window, name, "window");
    keep(file, name, "file");
    ASSERT_EQ(window.size(), file.size());
    expect_golden(name, window);
    const Difference found = difference(window, file);
    EXPECT_LT(found.mean, 1.5);
    EXPECT_LT(found.far, 0.01);
    EXPECT_GT(found.painted, 0.2) << "an empty picture is the same everywhere";
}

TEST(SamePictures, ShapesTextAndClips) {
    expect_same("shapes", {300, 200}, [](Canvas& canvas) {
        canvas.rectangle({10, 10, 120, 60}, Color::hex(0x56b4e9), Pen{Color::hex(0x0072b2), 3, {9, 4}}, 12);
        canvas.clip({150, 10, 60, 60});
        canvas.rectangle({140, 0, 100, 50}, Color::hex(0xe69f00, 0.5));
        canvas.unclip();
        canvas.path(Path()
                        .move_to({20, 100})
                        .curve_to({60, 60}, {100, 160}, {140, 100})
                        .line_to({140, 140})
                        .line_to({20, 140})
                        .close(),
                    Color::hex(0x009e73, 0.6), Pen{Color::hex(0x1f2933), 1.5});
        canvas.line({20, 160}, {280, 160}, {Color::hex(0xd55e00), 2, {6, 3}});
        canvas.text({150, 110}, "left, 10 MiB", {.size = 12, .bold = true});
        canvas.text({280, 130}, "right, größer", {.size = 10.5, .align = Align::right});
        canvas.text({215, 150}, "centre", {.size = 9, .align = Align::center});
        canvas.text({250, 80}, "upward", {.size = 10, .upward = true});
    });
}

TEST(SamePictures, TheRulersAgree) {
    for (double size : {8.5, 10.0, 11.0, 16.0})
        for (bool bold : {false, true})
            for (const char* words : {"x", "decoder.layers.11.attention", "1,024 MiB · 12 ops", "größer"}) {
                const TextStyle style{.size = size, .bold = bold};
                const double width = picture_ruler().text_width(words, style);
                EXPECT_NEAR(qt_ruler().text_width(words, style), width, 0.02 * width + 0.3) << words;
            }
}

TEST(SamePictures, TheSchedule) {
    const GraphPtr graph = loaded_chain(40);
    Schedule schedule = keep_all_schedule(*graph);
    const TensorId made = graph->graph.ops[OpId(0)].outputs.front();
    schedule.steps.insert(schedule.steps.begin(), {Step::run(OpId(0)), Step::free(made)});
    const SchedulePtr loaded = prepare_schedule(graph, schedule);
    const LaneData data = lane_data(graph->graph, loaded->schedule.steps, loaded->simulation, LaneAxis::time);
    expect_same("schedule", {900, 320}, [&](Canvas& canvas) {
        paint_schedule(canvas, {.graph = graph->graph,
                                .steps = loaded->schedule.steps,
                                .data = data,
                                .budget = Bytes(60 << 20),
                                .resident = Bytes(8 << 20),
                                .rect = {0, 0, 900, 320},
                                .cursor = 50});
    });
}

/// Two schedules of the chain: one runs each op once, the other one also reruns the first op.
class TwoSchedules {
  public:
    TwoSchedules() : graph(loaded_chain(12)) {
        Schedule schedule = keep_all_schedule(*graph);
        once = prepare_schedule(graph, schedule);
        const TensorId made = graph->graph.ops[OpId(0)].outputs.front();
        for (int i = 0; i < 3; ++i)
            schedule.steps.insert(schedule.steps.begin(), {Step::run(OpId(0)), Step::free(made)});
        again = prepare_schedule(graph, schedule);
    }
    LaneData lanes(const SchedulePtr& schedule) const {
        return lane_data(graph->graph, schedule->schedule.steps, schedule->simulation, LaneAxis::time);
    }
    GraphPtr graph;
    SchedulePtr once, again;
};

TEST(SamePictures, TheMemoryByModuleOnDarkPaper) {
    const TwoSchedules two;
    const LaneData data = two.lanes(two.again);
    const Graph& graph = two.graph->graph;
    const MemoryStack stack = memory_stack(graph, two.again->schedule.steps, module_groups(graph));
    expect_same("layers", {700, 320}, [&](Canvas& canvas) {
        canvas.rectangle({0, 0, 700, 320}, palette::kDark.page);
        paint_schedule(canvas, {.graph = graph,
                                .steps = two.again->schedule.steps,
                                .data = data,
                                .stack = &stack,
                                .rect = {0, 0, 700, 270},
                                .paper = palette::kDark});
        paint_overview(canvas, {.data = data,
                                .from = data.length / 4,
                                .to = data.length / 2,
                                .rect = {96, 280, 590, 30},
                                .paper = palette::kDark});
    });
}

TEST(SamePictures, TheFlameChartWithASpan) {
    const TwoSchedules two;
    const Graph& graph = two.graph->graph;
    const FlameData data =
        flame_data(graph, two.again->schedule.steps, two.again->simulation, LaneAxis::time);
    expect_same("flame", {700, 130}, [&](Canvas& canvas) {
        paint_flame(canvas, {.graph = graph,
                             .data = data,
                             .rect = {0, 0, 700, 130},
                             .row_height = 22,
                             .span = {{data.run(8).begin, data.run(20).end}},
                             .cursor = data.run(30).step,
                             .focused = 2});
    });
}

TEST(SamePictures, LifetimesOnDarkPaper) {
    const TwoSchedules two;
    LifetimeBars bars = LifetimeRows(two.again).at({.order = LifetimeOrder::bytes_by_idle, .most = 14});
    expect_same("lifetimes", {700, 330}, [&](Canvas& canvas) {
        canvas.rectangle({0, 0, 700, 330}, palette::kDark.page);
        paint_lifetimes(canvas,
                        {.data = bars, .rect = {0, 0, 700, 330}, .current = 3, .paper = palette::kDark});
    });
}

TEST(SamePictures, TwoPlansBesideEachOther) {
    const TwoSchedules two;
    const Result<ScheduleDiff> found =
        compare(two.graph->graph, two.once->schedule.steps, two.again->schedule.steps);
    ASSERT_TRUE(found);
    const LaneData a = two.lanes(two.once), b = two.lanes(two.again);
    const LaneData alone_a = bars_alone(a, found->in_b), alone_b = bars_alone(b, found->in_a);
    expect_same("compare", {700, 400}, [&](Canvas& canvas) {
        paint_comparison(canvas,
                         {.graph = two.graph->graph,
                          .a = {"A", "A: once", two.once->schedule.steps, a, alone_a, 6},
                          .b = {"B", "B: again", two.again->schedule.steps, b, alone_b, found->in_b[6]},
                          .rect = {0, 0, 700, 400}});
    });
}

TEST(SamePictures, TheTradeOff) {
    Sweep sweep{"graph", "", {}};
    for (const char* solver : {"atlas", "chen-sqrt", "rotor"}) {
        SweepCurve curve{solver, {}};
        for (int i = 0; i < 5; ++i)
            curve.points.push_back({Bytes((20 + 10 * i) << 20),
                                    "feasible",
                                    Bytes((19 + 9 * i) << 20),
                                    1.4 - 0.1 * i + 0.03 * static_cast<double>(sweep.curves.size()),
                                    Bound{1.2 - 0.06 * i, 0, ScheduleClass::any_order},
                                    {}});
        sweep.curves.push_back(curve);
    }
    expect_same("sweep", {640, 400}, [&](Canvas& canvas) {
        paint_sweep(canvas, {.sweep = sweep,
                             .keep_all = Bytes(70 << 20),
                             .least = Bytes(16 << 20),
                             .rect = {0, 0, 640, 400},
                             .legend_above = true,
                             .text_size = 11,
                             .budget = Bytes(45 << 20),
                             .shown = SweepSpot{Bytes(37 << 20), 1.2}});
    });
}

/// Lays out the items in a simple grid of two columns, and draws the edges as arrows.
Layout one_column(const BlockView& view) {
    Layout layout;
    const std::vector<Size> sizes = item_sizes(view, qt_ruler());
    double y = 20;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        layout.items.push_back({i % 2 == 0 ? 30.0 : 330.0, y, sizes[i].width, sizes[i].height});
        if (i % 2 == 1) y += 60;
    }
    for (const BlockViewEdge& edge : view.edges) {
        const Rect &a = layout.items[edge.from], &b = layout.items[edge.to];
        layout.edges.push_back({{a.x + 50, a.y + a.height},
                                {a.x + 60, a.y + a.height + 20},
                                {b.x + 70, b.y - 20},
                                {b.x + 50, b.y}});
    }
    for (std::size_t i = 0; i < view.clusters.size(); ++i)
        layout.clusters.push_back(
            {4.0 + 3.0 * static_cast<double>(i), 2, 590 - 6.0 * static_cast<double>(i), y});
    layout.size = {600, y + 20};
    return layout;
}

TEST(SamePictures, TheBlocks) {
    const GraphPtr graph = loaded_chain(4);
    const SchedulePtr schedule = prepare_schedule(graph, keep_all_schedule(*graph));
    const Blocks& blocks = graph->graph.blocks;
    for (double detail : {2.0, 0.3}) {
        const BlockView view = make_block_view(
            graph->graph, blocks, expanded_to_depth(blocks, full_depth(blocks)), &schedule->decisions);
        const Layout layout = one_column(view);
        const std::vector<int> marked{1};
        expect_same(detail > 1 ? "blocks" : "blocks_from_afar", layout.size, [&](Canvas& canvas) {
            paint_blocks(canvas, {.view = view,
                                  .layout = layout,
                                  .with_schedule = true,
                                  .detail = detail,
                                  .marked = &marked,
                                  .running = 2});
        });
    }
}

}  // namespace
}  // namespace rematlas::explorer
