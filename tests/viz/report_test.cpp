#include "viz/report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <regex>
#include <set>

#include "core/base/files.h"
#include "core/checking/check.h"
#include "core/planning/request.h"
#include "tests/support/full_disk.h"
#include "tests/viz/layered_graph.h"
#include "tests/viz/xml_fault.h"
#include "viz/paint/draw.h"
#include "viz/report/step_figures.h"

namespace rematlas {
namespace {

class Reports : public testing::Test {
  protected:
    void SetUp() override {
        if (!can_draw_pictures()) GTEST_SKIP() << "this build has no cairo";
        folder = std::filesystem::path(testing::TempDir()) / ("reports_" + std::to_string(getpid()));
        std::filesystem::create_directories(folder);
        schedule = solved("70%");
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    Schedule solved(const char* budget) const {
        const Result<Outcome> outcome =
            solve(graph, {.solver = "chen-greedy", .budget = *parse_budget(budget)});
        return *outcome->schedule();
    }
    Sweep swept() const { return *run_sweep(graph, {.solvers = {"chen-greedy", "keep-all"}, .count = 4}); }
    std::string page() const {
        const Result<std::string> made = report_page({.graph = &graph, .schedule = &schedule});
        return made ? *made : made.error().message;
    }
    /// The exact number in the row of the figures with that name; -1: no such row.
    static double figure(const std::string& page, const std::string& name) {
        std::smatch found;
        const std::regex row("<th scope=\"row\">" + name + "</th><td><data value=\"([^\"]*)\">");
        return std::regex_search(page, found, row) ? std::stod(found[1]) : -1;
    }

    Graph graph = LayeredGraph::make(12);
    Schedule schedule;
    std::filesystem::path folder;
};

TEST_F(Reports, HoldTheFiguresOfTheChecker) {
    const std::string text = page();
    const CheckReport checked = check(graph, schedule);
    ASSERT_GT(checked.reruns, 0u);
    EXPECT_EQ(figure(text, "Peak"), static_cast<double>(checked.peak.value));
    EXPECT_EQ(figure(text, "Budget"), static_cast<double>(schedule.budget.value));
    EXPECT_EQ(figure(text, "Time"), static_cast<double>(checked.time.value));
    EXPECT_EQ(figure(text, "Extra time"), checked.overhead);
    EXPECT_EQ(figure(text, "Runs"), static_cast<double>(checked.runs));
    EXPECT_EQ(figure(text, "Runs that compute again"), static_cast<double>(checked.reruns));
}

TEST_F(Reports, AreWellFormedAndTakeNothingFromElsewhere) {
    const Sweep sweep = swept();
    const Result<std::string> made = report_page({.graph = &graph, .schedule = &schedule, .sweep = &sweep});
    ASSERT_TRUE(made);
    EXPECT_EQ(xml_fault(*made), "");
    for (const char* outside : {"<script", "<link", "src=", "href=", "@import", "url(http"})
        EXPECT_EQ(made->find(outside), std::string::npos) << outside;
    std::set<std::string> ids;
    const std::regex id(" id=\"([^\"]*)\"");
    for (std::sregex_iterator at(made->begin(), made->end(), id), end; at != end; ++at)
        EXPECT_TRUE(ids.insert((*at)[1]).second) << "twice: " << (*at)[1];
    EXPECT_GT(ids.size(), 3u) << "both pictures, for light and for dark screens, have parts with names";
}

TEST_F(Reports, OnASweepListEveryPoint) {
    const Sweep sweep = swept();
    std::size_t points = 0;
    for (const SweepCurve& curve : sweep.curves) points += curve.points.size();
    for (const Graph* known : {&graph, static_cast<Graph*>(nullptr)}) {
        const Result<std::string> made = report_page({.graph = known, .sweep = &sweep});
        ASSERT_TRUE(made);
        EXPECT_EQ(xml_fault(*made), "");
        const std::size_t begin = made->find("<tbody>"), end = made->find("</tbody>");
        std::size_t rows = 0;
        for (std::size_t at = made->find("<tr>", begin); at < end; at = made->find("<tr>", at + 1)) ++rows;
        EXPECT_EQ(rows, points);
    }
}

TEST_F(Reports, NamesFromFilesStayText) {
    const std::string hostile = "</style><script>alert(\"1\")</script>&amp;\x01";
    graph.name = hostile;
    for (Tensor& tensor : graph.tensors) tensor.name += hostile;
    for (Op& op : graph.ops) op.module += hostile, op.name += hostile;
    schedule.solver = hostile;
    const std::string text = page();
    EXPECT_NE(text.find("&lt;script&gt;"), std::string::npos);
    EXPECT_EQ(text.find("<script"), std::string::npos);
    EXPECT_EQ(xml_fault(text), "");
}

TEST_F(Reports, AreNotWrittenOnWhatTheCheckerRefuses) {
    schedule.steps.erase(schedule.steps.begin());
    const std::filesystem::path path = folder / "refused.html";
    const Result<void> written = write_report({.graph = &graph, .schedule = &schedule}, path);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::negative);
    EXPECT_NE(written.error().message.find("step "), std::string::npos) << written.error().message;
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Reports, RefuseWhatBelongsToAnotherGraph) {
    graph.sha256 = "aa";
    schedule.graph_sha256 = "bb";
    EXPECT_FALSE(report_page({.graph = &graph, .schedule = &schedule}));
    EXPECT_FALSE(report_page({.graph = &graph})) << "nothing to report on";
}

TEST_F(Reports, ThatCannotBeWrittenWholeLeaveWhatWasThere) {
    const std::filesystem::path path = folder / "report.html";
    ASSERT_TRUE(write_file(path, "old"));
    Result<void> written;
    {
        const FullDisk full(1000);
        written = write_report({.graph = &graph, .schedule = &schedule}, path);
    }
    EXPECT_FALSE(written);
    EXPECT_EQ(*read_file(path), "old");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1)
        << "nothing is left beside it";
}

TEST_F(Reports, OfEqualFilesAreEqual) {
    EXPECT_EQ(page(), page());
}

TEST_F(Reports, SayWhatIsProvenAndWhatIsNot) {
    schedule.bound.reset();
    EXPECT_NE(page().find("no lower bound was proven"), std::string::npos);
    schedule.bound = Bound{.overhead = schedule.overhead, .gap = 0, .over = ScheduleClass::any_order};
    schedule.status = "optimal";
    EXPECT_NE(page().find("It is the best possible"), std::string::npos);
    schedule.status = "feasible";
    schedule.bound->overhead = 1.01;
    schedule.bound->gap = schedule.overhead / 1.01 - 1;
    EXPECT_NE(page().find("costs less than +1.00 % time"), std::string::npos);
}

TEST_F(Reports, UnderPinsNothingIsSaidOfSchedulesWithoutThem) {
    const Result<Outcome> outcome = solve(graph, {.solver = "atlas",
                                                  .budget = *parse_budget("80%"),
                                                  .limits = {.time = std::chrono::minutes(1), .gap = 1},
                                                  .pins = {{"h.0.mlp", PinKind::recompute}}});
    ASSERT_TRUE(outcome && outcome->schedule());
    schedule = *outcome->schedule();
    const std::string text = page();
    EXPECT_NE(text.find("h.0.mlp=recompute"), std::string::npos);
    EXPECT_NE(text.find("that keeps the pins"), std::string::npos);
}

TEST_F(Reports, TheBlocksTheResidentsAndTheWorkspaceMakeUpThePeak) {
    graph.ops[OpId(5)].workspace = Bytes(12345);
    schedule = solved("100%");
    const Result<StepFigures> figures = step_figures(graph, schedule);
    ASSERT_TRUE(figures);
    EXPECT_EQ(figures->at_peak.total(), figures->check.peak);
    Bytes sum = figures->resident + figures->at_peak.workspace;
    std::size_t ops = 0;
    for (const BlockFigures& block : figures->blocks) {
        if (block.depth > 0) continue;
        sum += block.at_peak;
        ops += block.ops;
    }
    EXPECT_EQ(sum, figures->check.peak);
    EXPECT_EQ(ops, graph.ops.size());
}

TEST_F(Reports, WhatRunsAgainCountsInItsBlockAndItsModule) {
    const Result<StepFigures> figures = step_figures(graph, schedule);
    ASSERT_TRUE(figures);
    std::size_t in_blocks = 0, in_modules = 0;
    Nanoseconds extra;
    for (const BlockFigures& block : figures->blocks)
        if (block.depth == 0) in_blocks += block.reruns, extra += block.extra;
    for (const RecomputedModule& module : figures->recomputed) in_modules += module.reruns;
    EXPECT_EQ(in_blocks, figures->check.reruns);
    EXPECT_EQ(in_modules, figures->check.reruns);
    EXPECT_EQ(extra, figures->check.time - figures->keep_all_time);
}

}  // namespace
}  // namespace rematlas
