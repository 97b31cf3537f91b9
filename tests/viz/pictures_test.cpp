#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/graph/flat_graph.h"
#include "core/hierarchy/decompose.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/sharded_layers.h"
#include "tests/core/support/update_on_host.h"
#include "tests/support/full_disk.h"
#include "tests/viz/layered_graph.h"
#include "tests/viz/xml_fault.h"
#include "viz/layout/cluster_layout.h"
#include "viz/layout/layout_worker.h"
#include "viz/paint/blocks_painter.h"
#include "viz/paint/draw.h"
#include "viz/paint/painters.h"

namespace rematlas {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size()))
        ++n;
    return n;
}

class Pictures : public testing::Test {
  protected:
    void SetUp() override {
        folder = std::filesystem::path(testing::TempDir()) / ("pictures_" + std::to_string(getpid()));
        std::filesystem::create_directories(folder);
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::string content(const std::string& name) const {
        auto text = read_file(folder / name);
        return text ? *text : "";
    }

    /// Returns a schedule that recomputes the ops of the first layer during the backward pass. It is valid
    /// but not useful.
    Schedule schedule() const {
        FlatGraph flat = flatten(graph);
        RunSequence runs = keep_all_sequence(flat);
        RunSequence again = runs;
        again.insert(again.end() - 2, {0, 1});
        Schedule s;
        s.graph = graph.name;
        s.solver = "hand-made";
        s.steps = lower(flat, again);
        auto simulation = simulate(graph, s.steps);
        s.peak = simulation->peak;
        s.budget = s.peak + Bytes(1 << 20);
        s.time = simulation->time;
        s.overhead = static_cast<double>(s.time.value) / static_cast<double>(flat.base_time);
        return s;
    }

    Sweep sweep() const {
        Sweep made{graph.name, "", {}};
        for (const char* solver : {"atlas", "chen-sqrt"}) {
            SweepCurve curve{solver, {}};
            for (int i = 0; i < 4; ++i)
                curve.points.push_back({Bytes((20 + 10 * i) << 20),
                                        "feasible",
                                        Bytes((19 + 10 * i) << 20),
                                        1.3 - 0.1 * i,
                                        Bound{1.2 - 0.06 * i, 0, ScheduleClass::any_order},
                                        {}});
            curve.points.insert(curve.points.begin(), {Bytes(5 << 20), "infeasible", Bytes(0), 0, {}, {}});
            made.curves.push_back(curve);
        }
        return made;
    }

    Graph graph = LayeredGraph::make(12);
    std::filesystem::path folder;
};

TEST_F(Pictures, EachFormatHasItsSignature) {
    Sweep s = sweep();
    for (const char* name : {"s.svg", "s.png", "s.PDF"}) {
        auto drawn = draw_sweep_file(s, folder / name, &graph);
        ASSERT_TRUE(drawn) << drawn.error().message;
    }
    EXPECT_EQ(content("s.svg").rfind("<svg ", 0), 0u);
    EXPECT_EQ(content("s.png").substr(0, 8), "\x89PNG\r\n\x1a\n");
    EXPECT_EQ(content("s.PDF").substr(0, 5), "%PDF-");
    EXPECT_NE(content("s.PDF").find("%%EOF"), std::string::npos);
}

TEST_F(Pictures, ThatCannotBeWrittenWholeLeaveWhatWasThere) {
    ASSERT_TRUE(write_file(folder / "old.svg", "old"));
    const Sweep swept = sweep();
    const Schedule made = schedule();
    std::size_t refused = 0;
    {
        const FullDisk full(1000);
        for (const char* name : {"old.svg", "new.svg", "new.png", "new.pdf"}) {
            refused += !draw_sweep_file(swept, folder / name, &graph);
            refused += !draw_schedule_file(graph, made, folder / name);
            refused += !draw_graph_file(graph, &made, folder / name);
        }
    }
    EXPECT_EQ(refused, 12u);
    EXPECT_EQ(content("old.svg"), "old");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1)
        << "nothing is left beside it";
}

TEST_F(Pictures, TheTradeOffNamesEverySolverTheBoundAndTheLimits) {
    ASSERT_TRUE(draw_sweep_file(sweep(), folder / "s.svg", &graph));
    std::string svg = content("s.svg");
    EXPECT_EQ(xml_fault(svg), "");
    for (const char* text : {">atlas<", ">chen-sqrt<", ">proven lower bound<", "peak memory [MiB]",
                             "no recomputation: ", "infeasible", "+10 %"})
        EXPECT_NE(svg.find(text), std::string::npos) << text;
    // The picture has one group for each schedule that was found, and none for the infeasible budget.
    EXPECT_EQ(count(svg, "<title>atlas: "), 4u);
}

TEST_F(Pictures, TheTradeOffNeedsNoGraph) {
    ASSERT_TRUE(draw_sweep_file(sweep(), folder / "s.svg"));
    std::string svg = content("s.svg");
    EXPECT_EQ(xml_fault(svg), "");
    EXPECT_EQ(svg.find("no recomputation: "), std::string::npos);
}

TEST_F(Pictures, ASweepThatFoundNothingIsStillAPicture) {
    Sweep nothing{"layered", "", {{"atlas", {{Bytes(5), "infeasible", Bytes(0), 0, {}, {}}}}, {"dtr", {}}}};
    for (const Graph* g : {static_cast<const Graph*>(nullptr), static_cast<const Graph*>(&graph)}) {
        ASSERT_TRUE(draw_sweep_file(nothing, folder / "n.svg", g));
        EXPECT_EQ(xml_fault(content("n.svg")), "");
    }
}

TEST_F(Pictures, TheScheduleShowsItsLanesTheBudgetAndThePeak) {
    Schedule s = schedule();
    auto drawn = draw_schedule_file(graph, s, folder / "s.svg");
    ASSERT_TRUE(drawn) << drawn.error().message;
    std::string svg = content("s.svg");
    EXPECT_EQ(xml_fault(svg), "");
    for (const char* text : {">forward<", ">backward<", ">recompute<", ">budget ", ">peak ", "hand-made",
                             "time [ms]", "device memory [MiB]", "resident"})
        EXPECT_NE(svg.find(text), std::string::npos) << text;
    EXPECT_EQ(svg.find("copy to host"), std::string::npos) << "nothing is copied";
}

TEST_F(Pictures, TheFlameChartHasTheRunsByModuleWithTheirFiguresAsTooltips) {
    const Schedule s = schedule();
    ASSERT_TRUE(draw_flame_file(graph, &s, folder / "f.svg"));
    const std::string svg = content("f.svg");
    EXPECT_EQ(xml_fault(svg), "");
    for (const char* text : {">forward<", ">backward<", "hand-made", "2 of them again", ">h.3<",
                             "<title>h.3, 4.00 ms, 4 runs, 4.00 MiB</title>"})
        EXPECT_NE(svg.find(text), std::string::npos) << text;
    ASSERT_TRUE(draw_flame_file(graph, nullptr, folder / "plain.svg"));
    EXPECT_EQ(content("plain.svg").find("again"), std::string::npos) << "each op runs once";
    Schedule broken = s;
    broken.steps.insert(broken.steps.begin(), Step::run(OpId(10)));
    EXPECT_FALSE(draw_flame_file(graph, &broken, folder / "n.svg"));
    EXPECT_FALSE(std::filesystem::exists(folder / "n.svg"));
}

TEST_F(Pictures, EvictionsAreMarkedAndCounted) {
    Schedule s = schedule();
    const auto marks = [&] {
        EXPECT_TRUE(draw_schedule_file(graph, s, folder / "s.svg"));
        const std::string svg = content("s.svg");
        EXPECT_EQ(xml_fault(svg), "");
        return svg;
    };
    EXPECT_EQ(marks().find("evictions"), std::string::npos);
    for (std::size_t i = 0; i < s.steps.size() && s.evicted.size() < 2; ++i)
        if (s.steps[i].kind == StepKind::free) s.evicted.push_back(static_cast<std::int32_t>(i));
    ASSERT_EQ(s.evicted.size(), 2u);
    const std::string svg = marks();
    EXPECT_NE(svg.find(">evictions<"), std::string::npos);
    EXPECT_NE(svg.find("2 evictions"), std::string::npos);
}

TEST_F(Pictures, OffloadingHasLanesOfItsOwn) {
    graph.device = Device{"test", Bytes(1LL << 34), 1e9, 1e9};
    Schedule s = schedule();
    TensorId made = graph.ops[OpId(2)].outputs.front();
    auto after = std::find(s.steps.begin(), s.steps.end(), Step::run(OpId(4)));
    ASSERT_NE(after, s.steps.end());
    s.steps.insert(after, Step::offload(made));
    auto drawn = draw_schedule_file(graph, s, folder / "s.svg");
    ASSERT_TRUE(drawn) << drawn.error().message;
    EXPECT_NE(content("s.svg").find(">copy to host<"), std::string::npos);
}

TEST_F(Pictures, OpsOnTheHostHaveALaneAndAreCounted) {
    ASSERT_TRUE(draw_schedule_file(graph_with_update(), with_update_on_host(), folder / "s.svg"));
    const std::string svg = content("s.svg");
    EXPECT_EQ(xml_fault(svg), "");
    EXPECT_NE(svg.find(">on the host<"), std::string::npos);
    EXPECT_NE(svg.find("2 runs on the device and 1 on the host, of 3 ops"), std::string::npos);
    ASSERT_TRUE(draw_schedule_file(graph_with_update(), with_update_on_device(), folder / "d.svg"));
    EXPECT_EQ(content("d.svg").find(">on the host<"), std::string::npos);
    EXPECT_NE(content("d.svg").find("3 runs of 3 ops"), std::string::npos);
}

TEST_F(Pictures, CollectivesHaveALaneWithTheNameOfTheirQueue) {
    const Graph sharded = sharded_layers(2, 100, 60);
    const FlatGraph flat = flatten(sharded);
    const Schedule kept{.graph = sharded.name, .steps = lower(flat, keep_all_sequence(flat))};
    ASSERT_TRUE(draw_schedule_file(sharded, kept, folder / "s.svg"));
    EXPECT_EQ(xml_fault(content("s.svg")), "");
    EXPECT_NE(content("s.svg").find(">queue fsdp<"), std::string::npos);
}

TEST_F(Pictures, AScheduleThatDoesNotRunIsRefused) {
    Schedule s = schedule();
    s.steps.insert(s.steps.begin(), Step::run(OpId(10)));
    auto drawn = draw_schedule_file(graph, s, folder / "s.svg");
    ASSERT_FALSE(drawn);
    EXPECT_NE(drawn.error().message.find("step 0"), std::string::npos) << drawn.error().message;
    EXPECT_FALSE(std::filesystem::exists(folder / "s.svg"));
}

TEST_F(Pictures, AScheduleOfAnotherGraphIsRefused) {
    Schedule s = schedule();
    graph.sha256 = std::string(64, 'a');
    s.graph_sha256 = std::string(64, 'b');
    auto drawn = draw_schedule_file(graph, s, folder / "s.svg");
    ASSERT_FALSE(drawn);
    EXPECT_NE(drawn.error().message.find("another graph"), std::string::npos);
}

TEST_F(Pictures, TheBlockGraphNamesItsBlocksAndTheirRepeats) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    auto drawn = draw_graph_file(graph, nullptr, folder / "g.svg", 2);
    ASSERT_TRUE(drawn) << drawn.error().message;
    std::string svg = content("g.svg");
    EXPECT_EQ(xml_fault(svg), "");
    EXPECT_GE(count(svg, ">h.0-11<"), 2u) << "forward and backward, all layers as one";
    for (const char* text : {">forward<", ">backward<", ">loss<", "×12", "48 ops", "12 equal blocks as one"})
        EXPECT_NE(svg.find(text), std::string::npos) << text;
    EXPECT_EQ(svg.find("recomputed"), std::string::npos) << "there is no schedule";
}

TEST_F(Pictures, WithAScheduleTheBlockGraphShowsWhatIsRecomputed) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    Schedule s = schedule();
    ASSERT_TRUE(draw_graph_file(graph, &s, folder / "g.svg"));
    std::string svg = content("g.svg");
    EXPECT_EQ(xml_fault(svg), "");
    EXPECT_NE(svg.find("100 % recomputed"), std::string::npos);
    EXPECT_NE(svg.find("stroke-dasharray"), std::string::npos);
    EXPECT_NE(svg.find("hand-made"), std::string::npos);
}

TEST_F(Pictures, ADeeperGraphHasMoreItems) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    std::size_t last = 0;
    for (int depth : {0, 1, 2, 99}) {
        ASSERT_TRUE(draw_graph_file(graph, nullptr, folder / "g.svg", depth));
        std::size_t items = count(content("g.svg"), "\nmakes ");
        EXPECT_GE(items, last);
        last = items;
    }
    EXPECT_EQ(last, graph.ops.size());
}

TEST_F(Pictures, OfAViewShowWhatIsExpandedThere) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    const Blocks blocks = decompose(graph);
    ExpandedBlocks expanded = expanded_to_depth(blocks, 2);
    for (const BlockId block : blocks.ids()) {
        if (blocks[block].path != "h.3") continue;
        expanded.unfolded.insert(runs_of(blocks).first[block]);
        expand(blocks, expanded, block);
    }
    const BlockView view = make_block_view(graph, blocks, expanded);
    LayoutCache shapes;
    const auto layout = layout_by_clusters(
        layout_request(view, item_sizes(view, picture_ruler()), title_sizes(view, picture_ruler())), shapes);
    ASSERT_TRUE(layout) << layout.error().message;
    const auto drawn = draw_view_file(graph, nullptr, view, *layout, folder / "v.svg");
    ASSERT_TRUE(drawn) << drawn.error().message;
    const std::string svg = content("v.svg");
    EXPECT_EQ(xml_fault(svg), "");
    EXPECT_EQ(count(svg, "\nmakes "), view.items.size());
    EXPECT_NE(svg.find(">h.2<"), std::string::npos) << "unfolded";
    EXPECT_EQ(svg.find("depth"), std::string::npos);
}

TEST_F(Pictures, HostileNamesStayText) {
    if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    graph.name = "<script>&\"\x01" + std::string(300, 'x');
    for (Op& op : graph.ops) op.name += "]]><b a=\"";
    for (const char* name : {"g.svg", "g.png", "g.pdf"}) {
        auto drawn = draw_graph_file(graph, nullptr, folder / name, 99);
        ASSERT_TRUE(drawn) << drawn.error().message;
    }
    EXPECT_EQ(xml_fault(content("g.svg")), "");
    EXPECT_EQ(content("g.svg").find("<script>"), std::string::npos);
}

TEST_F(Pictures, AMissingLayoutProgramIsNamed) {
    setenv("REMATLAS_LAYOUT_WORKER", "/no/such/rematlas-layout", 1);
    auto drawn = draw_graph_file(graph, nullptr, folder / "g.svg");
    unsetenv("REMATLAS_LAYOUT_WORKER");
    ASSERT_FALSE(drawn);
    EXPECT_NE(drawn.error().message.find("rematlas-layout"), std::string::npos) << drawn.error().message;
    EXPECT_FALSE(std::filesystem::exists(folder / "g.svg"));
}

TEST_F(Pictures, AnUnknownExtensionIsNamed) {
    for (const char* name : {"s.jpg", "s", "s.svg.txt"}) {
        auto drawn = draw_sweep_file(sweep(), folder / name);
        ASSERT_FALSE(drawn);
        EXPECT_NE(drawn.error().message.find(".svg, .png or .pdf"), std::string::npos);
    }
}

TEST_F(Pictures, NothingIsLeftWhereTheFileCannotBeWritten) {
    auto drawn = draw_sweep_file(sweep(), folder / "none" / "s.svg");
    ASSERT_FALSE(drawn);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(Pictures, EqualInputsGiveEqualFiles) {
    for (const char* extension : {".svg", ".png", ".pdf"}) {
        ASSERT_TRUE(draw_schedule_file(graph, schedule(), folder / (std::string("a") + extension)));
        ASSERT_TRUE(draw_schedule_file(graph, schedule(), folder / (std::string("b") + extension)));
        EXPECT_EQ(content(std::string("a") + extension), content(std::string("b") + extension)) << extension;
    }
}

}  // namespace
}  // namespace rematlas
