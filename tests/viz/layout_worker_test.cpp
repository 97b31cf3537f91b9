#include "viz/layout/layout_worker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/files.h"
#include "core/hierarchy/decompose.h"
#include "tests/viz/layered_graph.h"
#include "tests/viz/layout_stand_ins.h"
#include "viz/block_view/block_view.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

/// The tests of this class are skipped if the build has no Graphviz.
class LayoutWorkers : public testing::Test {
  protected:
    void SetUp() override {
        if (find_layout_worker().empty()) GTEST_SKIP() << "no rematlas-layout in this build";
    }
};

bool overlap(const Rect& a, const Rect& b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

bool inside(const Rect& a, const Rect& b) {
    return a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width && a.y + a.height <= b.y + b.height;
}

double distance(Point p, const Rect& r) {
    double dx = std::max({r.x - p.x, 0.0, p.x - r.x - r.width}),
           dy = std::max({r.y - p.y, 0.0, p.y - r.y - r.height});
    return std::hypot(dx, dy);
}

TEST_F(LayoutWorkers, ForwardRunsDownAndItsGradientsStandBesideIt) {
    auto layout = layout_in_worker(ladder(6));
    ASSERT_TRUE(layout) << layout.error().message;
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(layout->items[i].y, layout->items[6 + i].y);
        EXPECT_LT(layout->items[i].x, layout->items[6 + i].x);
        if (i > 0) {
            EXPECT_GT(layout->items[i].y, layout->items[i - 1].y);
        }
    }
}

TEST_F(LayoutWorkers, ItemsKeepTheirSizesAndDoNotOverlap) {
    LayoutRequest request = ladder(20);
    request.items[3].size = {200, 50};
    auto layout = layout_in_worker(request);
    ASSERT_TRUE(layout) << layout.error().message;
    for (std::size_t i = 0; i < layout->items.size(); ++i) {
        EXPECT_EQ(layout->items[i].width, request.items[i].size.width);
        EXPECT_TRUE(inside(layout->items[i], {0, 0, layout->size.width, layout->size.height}));
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_FALSE(overlap(layout->items[i], layout->items[j])) << i << " and " << j;
    }
}

TEST_F(LayoutWorkers, SplinesLeadFromTheirItemToTheOther) {
    LayoutRequest request = ladder(5);
    request.edges.push_back({0, 9, EdgeRole::free});
    request.edges.push_back({2, 2, EdgeRole::down});
    auto layout = layout_in_worker(request);
    ASSERT_TRUE(layout) << layout.error().message;
    for (std::size_t i = 0; i + 1 < request.edges.size(); ++i) {
        ASSERT_GE(layout->edges[i].size(), 4u);
        EXPECT_LT(distance(layout->edges[i].front(), layout->items[request.edges[i].from]), 2);
        EXPECT_LT(distance(layout->edges[i].back(), layout->items[request.edges[i].to]), 2);
    }
    EXPECT_TRUE(layout->edges.back().empty());
}

TEST_F(LayoutWorkers, RungsBetweenClustersLeadStraightAcross) {
    LayoutRequest request = ladder(3);
    request.items.push_back({{80, 30}, 0});
    request.clusters = {{-1, {60, 12}}, {-1, {60, 12}}};
    for (int i : {0, 1, 2}) request.items[i].cluster = 0;
    for (int i : {3, 4, 5}) request.items[i].cluster = 1;
    request.pairs = {{6, 1}};
    auto layout = layout_in_worker(request);
    ASSERT_TRUE(layout) << layout.error().message;
    for (std::size_t i = 0; i < request.edges.size(); ++i) {
        if (request.edges[i].role != EdgeRole::rung) continue;
        const auto& spline = layout->edges[i];
        for (std::size_t k = 1; k < spline.size(); ++k)
            EXPECT_GE(spline[k].x, spline[k - 1].x) << "edge " << i;
    }
}

TEST_F(LayoutWorkers, ClustersHoldTheirItemsAndTitles) {
    LayoutRequest request = ladder(4);
    request.clusters = {{-1, {150, 14}}, {0, {60, 14}}};
    request.items[0].cluster = 0;
    request.items[1].cluster = request.items[2].cluster = 1;
    auto layout = layout_in_worker(request);
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_TRUE(inside(layout->items[0], layout->clusters[0]));
    EXPECT_TRUE(inside(layout->items[1], layout->clusters[1]));
    EXPECT_TRUE(inside(layout->items[2], layout->clusters[1]));
    EXPECT_TRUE(inside(layout->clusters[1], layout->clusters[0]));
    EXPECT_FALSE(overlap(layout->items[3], layout->clusters[0]));
    EXPECT_GE(layout->clusters[0].width, 150);
    EXPECT_GE(layout->items[1].y - layout->clusters[1].y, 14);
}

TEST_F(LayoutWorkers, EqualRequestsGiveEqualLayouts) {
    auto first = layout_in_worker(ladder(12)), second = layout_in_worker(ladder(12));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, *second);
}

TEST_F(LayoutWorkers, ThreadsMayLayOutAtOnce) {
    std::vector<std::thread> threads;
    std::vector<int> sizes(4, 0);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            auto layout = layout_in_worker(ladder(3 + i));
            if (layout) sizes[i] = static_cast<int>(layout->items.size());
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(sizes, (std::vector<int>{6, 8, 10, 12}));
}

TEST_F(LayoutWorkers, AWholeTrainingGraphIsLaidOut) {
    Graph graph = LayeredGraph::make(12);
    Blocks blocks = decompose(graph);
    BlockView view = make_block_view(graph, blocks, expanded_to_depth(blocks, full_depth(blocks)));
    std::vector<Size> items(view.items.size(), Size{90, 30}), titles(view.clusters.size(), Size{40, 12});
    auto layout = layout_in_worker(layout_request(view, items, titles));
    ASSERT_TRUE(layout) << layout.error().message;
    for (const LayoutPair& pair : view.pairs) {
        EXPECT_GE(layout->items[pair.right].y + 1, layout->items[pair.left].y) << view.items[pair.left].path;
        EXPECT_GT(layout->items[pair.right].x, layout->items[pair.left].x) << view.items[pair.left].path;
    }
}

TEST_F(LayoutWorkers, AnInvalidRequestIsRefusedWithItsReason) {
    LayoutRequest request = ladder(2);
    request.edges.push_back({0, 77});
    auto layout = layout_in_worker(request);
    ASSERT_FALSE(layout);
    EXPECT_NE(layout.error().message.find("edges[4]"), std::string::npos) << layout.error().message;
}

TEST_F(LayoutWorkers, TooLittleMemoryIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's tables are beyond any limit on addresses: the program keeps none";
#endif
    auto layout = layout_in_worker(ladder(3000), {.time = 600s, .bytes = Bytes(24 << 20)});
    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().message.rfind("layout: ", 0), 0u) << layout.error().message;
    EXPECT_EQ(layout.error().message.find("not done within"), std::string::npos) << layout.error().message;
}

/// Returns what the program prints for `input`.
std::string output_of(const std::string& input) {
    std::string in = testing::TempDir() + "layout_input_" + std::to_string(getpid());
    std::ofstream(in, std::ios::binary) << input;
    FILE* pipe = popen(("'" + find_layout_worker().string() + "' < '" + in + "'").c_str(), "r");
    std::string out;
    char buffer[4096];
    while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
    pclose(pipe);
    std::remove(in.c_str());
    return out;
}

TEST_F(LayoutWorkers, MalformedInputIsAnsweredByOneError) {
    for (const char* input : {"{", "[1, 2]", "{\"format\": \"other\"}", "{\"format\": 3}"}) {
        nlohmann::json answer = nlohmann::json::parse(output_of(input), nullptr, false);
        ASSERT_TRUE(answer.is_object()) << input;
        EXPECT_TRUE(answer.contains("error")) << input;
    }
}

TEST_F(LayoutWorkers, OneProgramAnswersASeries) {
    std::string good = to_json(ladder(2)).dump(), bad = "{}";
    std::string out;
    for (const std::string& request : {good, bad, good})
        out += std::to_string(request.size()) + "\n" + request;
    out = output_of(out);
    std::vector<std::string> answers;
    for (std::size_t at = 0; at < out.size();) {
        std::size_t end = out.find('\n', at), size = std::stoul(out.substr(at, end - at));
        answers.push_back(out.substr(end + 1, size));
        at = end + 1 + size;
    }
    ASSERT_EQ(answers.size(), 3u);
    EXPECT_EQ(answers[0], answers[2]);
    EXPECT_TRUE(layout_from(nlohmann::json::parse(answers[0])));
    EXPECT_TRUE(nlohmann::json::parse(answers[1]).contains("error"));
}

// The tests of LayoutWorkerProcess need no Graphviz. They run stand-ins for the program that fail in
// different ways.

TEST(LayoutWorkerProcess, OneThatHangsIsEndedWhenTheTimeIsUp) {
    Script hangs("sleep 1000 & echo $! > \"$0.child\"; wait");
    auto layout = layout_in_worker(ladder(2), {.time = 100ms, .worker = hangs.path()});
    ASSERT_FALSE(layout);
    EXPECT_NE(layout.error().message.find("not done within"), std::string::npos) << layout.error().message;
    auto child = read_file(hangs.path().string() + ".child");
    if (child) kill(std::stoi(*child), SIGKILL);
    std::remove((hangs.path().string() + ".child").c_str());
}

TEST(LayoutWorkerProcess, AStopEndsItAtOnce) {
    Script hangs("exec sleep 1000");
    std::stop_source stop;
    std::thread later([&] {
        std::this_thread::sleep_for(50ms);
        stop.request_stop();
    });
    auto layout =
        layout_in_worker(ladder(2), {.time = 1000s, .stop = stop.get_token(), .worker = hangs.path()});
    later.join();
    ASSERT_FALSE(layout);
    EXPECT_NE(layout.error().message.find("stopped"), std::string::npos);
    EXPECT_EQ(layout.error().kind, ErrorKind::negative);
}

TEST(LayoutWorkerProcess, AStopBeforeTheStartIsSeen) {
    Script hangs("exec sleep 1000");
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(
        layout_in_worker(ladder(2), {.time = 1000s, .stop = stop.get_token(), .worker = hangs.path()}));
}

TEST(LayoutWorkerProcess, ACrashIsToldWithItsSignal) {
    Script crashes("kill -SEGV $$");
    auto layout = layout_in_worker(ladder(2), {.worker = crashes.path()});
    ASSERT_FALSE(layout);
    EXPECT_NE(layout.error().message.find("signal 11"), std::string::npos) << layout.error().message;
}

TEST(LayoutWorkerProcess, ACrashWhileTheRequestIsSentIsToldToo) {
    Script crashes("kill -ABRT $$");
    auto layout = layout_in_worker(ladder(20000), {.worker = crashes.path()});
    ASSERT_FALSE(layout);
    EXPECT_NE(layout.error().message.find("signal 6"), std::string::npos) << layout.error().message;
}

TEST(LayoutWorkerProcess, AnExitWithoutAnswerIsToldWithItsStatus) {
    Script leaves("exit 9");
    auto layout = layout_in_worker(ladder(2), {.worker = leaves.path()});
    ASSERT_FALSE(layout);
    EXPECT_NE(layout.error().message.find("status 9"), std::string::npos) << layout.error().message;
}

TEST(LayoutWorkerProcess, NonsenseAndAnswersToAnotherRequestAreRefused) {
    Script babbles("echo hello; exec sleep 1000");
    EXPECT_FALSE(layout_in_worker(ladder(2), {.worker = babbles.path()}));
    const std::string empty = to_json(Layout{}).dump();
    Script other("echo " + std::to_string(empty.size()) + "; echo '" + empty + "'; exec sleep 1000");
    auto layout = layout_in_worker(ladder(2), {.worker = other.path()});
    ASSERT_FALSE(layout);
    EXPECT_NE(layout.error().message.find("does not fit"), std::string::npos) << layout.error().message;
}

TEST_F(LayoutWorkers, OneObjectAnswersAgainAndAgainUntilARequestIsRefused) {
    LayoutWorker worker;
    const LayoutRequest requests[] = {ladder(2), ladder(5), ladder(2)};
    auto first = worker.lay_out(requests), second = worker.lay_out(requests);
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(*first, *second);
    EXPECT_EQ((*first)[0], (*first)[2]);
    EXPECT_EQ((*first)[1].items.size(), 10u);
    LayoutRequest wrong = ladder(2);
    wrong.edges.push_back({0, 77});
    const LayoutRequest with_wrong[] = {ladder(3), wrong};
    EXPECT_FALSE(worker.lay_out(with_wrong));
}

TEST_F(LayoutWorkers, ItemsOfTheFirstAndTheLastRowAreBeyondAllOthers) {
    LayoutRequest request;
    for (int i = 0; i < 4; ++i) request.items.push_back({{80, 30}});
    for (LayoutRow row : {LayoutRow::first, LayoutRow::first, LayoutRow::last})
        request.items.push_back({{1, 1}, -1, row});
    // A chain of four items. Edges lead from the first row to the third and the fourth item, and from the
    // first item to the last row.
    request.edges = {{0, 1}, {1, 2}, {2, 3}, {4, 3}, {5, 2}, {0, 6}};
    auto layout = layout_in_worker(request);
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_EQ(layout->items[4].y, layout->items[5].y);
    for (int i = 0; i < 4; ++i) {
        EXPECT_GT(layout->items[i].y, layout->items[4].y) << i;
        EXPECT_LT(layout->items[i].y, layout->items[6].y) << i;
    }
}

TEST(LayoutWorkerProcess, AMissingProgramIsNamed) {
    auto layout = layout_in_worker(ladder(2), {.worker = "/no/such/program"});
    ASSERT_FALSE(layout);
    EXPECT_NE(layout.error().message.find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace rematlas
