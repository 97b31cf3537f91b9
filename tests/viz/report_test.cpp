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
#include "viz/paint/palette.h"
#include "viz/report/step_figures.h"

namespace rematlas {
namespace {

class Reports : public testing::Test {
  protected:
    void SetUp() override {
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
    ReportOf reported(const Sweep* sweep = nullptr) const {
        ReportOf of{.graph = &graph, .schedules = {{"s.schedule.json", &schedule}}};
        if (sweep) of.sweeps = {sweep};
        return of;
    }
    std::string page() const {
        const Result<std::string> made = report_page(reported());
        return made ? *made : made.error().message;
    }
    /// Returns the page without the contents of its scripts.
    static std::string without_script(std::string page) {
        for (std::size_t at = 0; (at = page.find("<script", at)) != std::string::npos; ++at) {
            const std::size_t begin = page.find('>', at) + 1;
            page.erase(begin, page.find("</script>", begin) - begin);
        }
        return page;
    }
    /// Returns the exact number in the row `name` of the table of figures; -1 if there is no such row.
    static double figure(const std::string& page, const std::string& name) {
        std::smatch found;
        const std::regex row("<th scope=\"row\">" + name + "</th><td><data value=\"([^\"]*)\">");
        return std::regex_search(page, found, row) ? std::stod(found[1]) : -1;
    }

    Graph graph = LayeredGraph::make(12);
    Schedule schedule;
    std::filesystem::path folder;
};

TEST_F(Reports, OneThatIsServedMayCallItsServerAndAFileNobody) {
    ReportOf of = reported();
    const std::string file = page();
    of.use = PageUse::served;
    const Result<std::string> served = report_page(of);
    ASSERT_TRUE(served);
    for (const char* part : {"connect-src 'self'", "class SolvePanel", "\"served\":true", "fetch("}) {
        EXPECT_NE(served->find(part), std::string::npos) << part;
        EXPECT_EQ(file.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(xml_fault(*served), "");
}

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
    const Result<std::string> made = report_page(reported(&sweep));
    ASSERT_TRUE(made);
    EXPECT_EQ(xml_fault(*made), "");
    const std::string markup = without_script(*made);
    for (const char* outside : {"<link", "src=", "href=", "@import", "url(http", " style=", " onclick="})
        EXPECT_EQ(markup.find(outside), std::string::npos) << outside;
    for (const char* outside : {"eval(", "new Function", "innerHTML", "import(", "fetch(", "XMLHttpRequest"})
        EXPECT_EQ(made->find(outside), std::string::npos) << outside;
    std::set<std::string> ids;
    const std::regex id(" id=\"([^\"]*)\"");
    for (std::sregex_iterator at(made->begin(), made->end(), id), end; at != end; ++at)
        EXPECT_TRUE(ids.insert((*at)[1]).second) << "twice: " << (*at)[1];
    EXPECT_GT(ids.size(), 3u) << "both pictures, for light and for dark screens, have parts with names";
}

/// The page must take the colours, and their number, from the palette.
TEST_F(Reports, HaveTheColoursOfCurvesThatThePaletteHas) {
    const std::string text = page();
    const auto times = [&](const std::string& part) {
        int found = 0;
        for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
        return found;
    };
    const std::size_t count = palette::kCurves.size();
    for (std::size_t i = 0; i <= count; ++i) {
        const std::string name = "curve-" + std::to_string(i);
        const bool exists = i < count;
        EXPECT_EQ(times("--" + name + ":#"), exists ? 3 : 0) << "light, and dark in two ways: " << name;
        EXPECT_EQ(times("." + name + "{background:var(--" + name + ")}"), exists ? 1 : 0) << name;
    }
    EXPECT_EQ(times("--curves:" + std::to_string(count) + ";"), 3);
    EXPECT_EQ(times("'curve-' +"), 1) << "the script makes such a name in one place, by this number";
    EXPECT_EQ(times("of('curves')"), 1);
}

TEST_F(Reports, LetABrowserRunNothingButTheirOwnScript) {
    const std::string text = page();
    std::smatch found;
    const std::regex policy("Content-Security-Policy\" content=\"([^\"]*)\"");
    ASSERT_TRUE(std::regex_search(text, found, policy));
    const std::string rules = found[1];
    EXPECT_TRUE(rules.starts_with("default-src 'none'")) << rules;
    EXPECT_EQ(rules.find("unsafe"), std::string::npos) << rules;
    EXPECT_NE(rules.find("script-src 'sha256-"), std::string::npos) << rules;
}

TEST_F(Reports, OfSeveralPlansTellOfTheFirstAndListAll) {
    const Schedule other = solved("90%");
    const Result<std::string> made =
        report_page({.graph = &graph, .schedules = {{"a.json", &schedule}, {"b.json", &other}}});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(xml_fault(*made), "");
    EXPECT_EQ(figure(*made, "Peak"), static_cast<double>(schedule.peak.value));
    EXPECT_NE(made->find("<td>b.json</td>"), std::string::npos);
}

TEST_F(Reports, OfAGraphAloneTellOfTheStepWithoutRecomputation) {
    const Result<std::string> made = report_page({.graph = &graph});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(xml_fault(*made), "");
    EXPECT_EQ(figure(*made, "Runs that compute again"), 0);
    EXPECT_EQ(figure(*made, "Extra time"), 1.0);
}

TEST_F(Reports, OnASweepListEveryPoint) {
    const Sweep sweep = swept();
    std::size_t points = 0;
    for (const SweepCurve& curve : sweep.curves) points += curve.points.size();
    for (const Graph* known : {&graph, static_cast<Graph*>(nullptr)}) {
        const Result<std::string> made = report_page({.graph = known, .sweeps = {&sweep}});
        ASSERT_TRUE(made);
        EXPECT_EQ(xml_fault(*made), "");
        const std::size_t begin = made->find("<tbody>"), end = made->find("</tbody>");
        std::size_t rows = 0;
        for (std::size_t at = made->find("<tr>", begin); at < end; at = made->find("<tr>", at + 1)) ++rows;
        EXPECT_EQ(rows, points);
    }
}

TEST_F(Reports, NamesFromFilesStayText) {
    const std::string hostile = "</style><script>alert(\"1\")</script>&amp;\x01\u2028\u202e]]>";
    graph.name = hostile;
    for (Tensor& tensor : graph.tensors) tensor.name += hostile;
    for (Op& op : graph.ops) op.module += hostile, op.name += hostile;
    schedule.solver = hostile;
    const std::string text = page();
    EXPECT_NE(text.find("&lt;script&gt;"), std::string::npos);
    EXPECT_EQ(text.find("<script>alert"), std::string::npos);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\x01'), 0);
    for (const char* unseen : {"\u2028", "\u202e"})
        EXPECT_EQ(text.find(unseen), std::string::npos) << "nothing changes the words beside a name";
    std::size_t scripts = 0;
    for (std::size_t at = text.find("<script"); at != std::string::npos; at = text.find("<script", at + 1))
        ++scripts;
    EXPECT_EQ(scripts, 2u) << "the page's own, and its data";
    EXPECT_EQ(xml_fault(text), "");
}

TEST_F(Reports, AreNotWrittenOnWhatTheCheckerRefuses) {
    schedule.steps.erase(schedule.steps.begin());
    const std::filesystem::path path = folder / "refused.html";
    const Result<void> written = write_report(reported(), path);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::negative);
    EXPECT_NE(written.error().message.find("step "), std::string::npos) << written.error().message;
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Reports, RefuseWhatBelongsToAnotherGraph) {
    graph.sha256 = "aa";
    schedule.graph_sha256 = "bb";
    EXPECT_FALSE(report_page(reported()));
    EXPECT_FALSE(report_page({})) << "nothing to report on";
    Sweep sweep = swept();
    sweep.graph_sha256 = "bb";
    EXPECT_FALSE(report_page({.graph = &graph, .sweeps = {&sweep}}));
}

TEST_F(Reports, ThatCannotBeWrittenWholeLeaveWhatWasThere) {
    const std::filesystem::path path = folder / "report.html";
    ASSERT_TRUE(write_file(path, "old"));
    Result<void> written;
    {
        const FullDisk full(1000);
        written = write_report(reported(), path);
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
