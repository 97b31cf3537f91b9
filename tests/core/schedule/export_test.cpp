#include "core/schedule/export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/schedule/run_sequence.h"
#include "tests/core/support/small_graph.h"
#include "tests/core/support/update_on_host.h"

namespace rematlas {
namespace {

Schedule with_one_rerun(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    Schedule schedule;
    schedule.graph = "small";
    schedule.steps = lower(flat, RunSequence{0, 1, 2, 0, 3, 4});
    return schedule;
}

TEST(Export, the_trace_has_one_event_a_run_and_marks_recomputation) {
    const Graph graph = small_graph();
    const nlohmann::json trace = nlohmann::json::parse(*chrome_trace(graph, with_one_rerun(graph)));
    int runs = 0, recomputed = 0;
    for (const auto& event : trace["traceEvents"]) {
        runs += event["ph"] == "X";
        recomputed += event["ph"] == "X" && event["cat"] == "recompute";
    }
    EXPECT_EQ(runs, 6);
    EXPECT_EQ(recomputed, 1);
}

TEST(Export, the_table_has_one_line_a_step) {
    Graph graph = small_graph();
    graph.ops[OpId(0)].name = "odd,\"name\"";
    const Schedule schedule = with_one_rerun(graph);
    const std::string table = *step_table(graph, schedule);
    EXPECT_EQ(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')),
              schedule.steps.size() + 1);
    EXPECT_NE(table.find("\"odd,\"\"name\"\"\""), std::string::npos);
}

TEST(Export, the_trace_has_copies_host_runs_and_waits_when_they_are) {
    const nlohmann::json trace =
        nlohmann::json::parse(*chrome_trace(graph_with_update(), with_update_on_host()));
    using Bar = std::tuple<std::string, std::string, double, double>;
    std::vector<Bar> bars;
    std::vector<std::pair<double, std::int64_t>> host;
    for (const auto& event : trace["traceEvents"]) {
        if (event["ph"] == "X")
            bars.emplace_back(event["tid"], event["name"], event["ts"], event["dur"]);
        else if (event["name"] == "host memory")
            host.emplace_back(event["ts"], event["args"]["bytes"]);
    }
    const std::vector<Bar> expected = {{"forward", "make", 0, 0.01},
                                       {"backward", "differentiate", 0.21, 0.01},
                                       {"waiting", "waits for held", 0.01, 0.1},
                                       {"waiting", "waits for held", 0.11, 0.1},
                                       {"waiting", "waits for update", 0.22, 0.13},
                                       {"to the host", "held", 0.01, 0.1},
                                       {"to the device", "held", 0.11, 0.1},
                                       {"to the host", "gradient", 0.22, 0.1},
                                       {"on the host", "update", 0.32, 0.03}};
    ASSERT_EQ(bars.size(), expected.size());
    for (std::size_t i = 0; i < bars.size(); ++i) {
        EXPECT_EQ(std::get<0>(bars[i]), std::get<0>(expected[i]));
        EXPECT_EQ(std::get<1>(bars[i]), std::get<1>(expected[i]));
        EXPECT_NEAR(std::get<2>(bars[i]), std::get<2>(expected[i]), 1e-9) << i;
        EXPECT_NEAR(std::get<3>(bars[i]), std::get<3>(expected[i]), 1e-9) << i;
    }
    EXPECT_EQ(host, (std::vector<std::pair<double, std::int64_t>>{{0, 100}, {0.01, 200}, {0.22, 300}}));
}

TEST(Export, the_table_tells_when_copies_and_host_runs_really_are) {
    const std::string table = *step_table(graph_with_update(), with_update_on_host());
    for (const char* line :
         {"1,offload,2,held,,,10,110,", "2,free,2,held,,,110,110,", "3,fetch,2,held,,,110,210,",
          "5,offload,3,gradient,,,220,320,", "6,run_host,2,update,,optimizer,320,350,"})
        EXPECT_NE(table.find(line), std::string::npos) << line << "\n" << table;
}

TEST(Export, a_schedule_that_cannot_run_is_refused) {
    const Graph graph = small_graph();
    Schedule schedule = with_one_rerun(graph);
    schedule.steps.erase(schedule.steps.begin());
    EXPECT_FALSE(chrome_trace(graph, schedule));
    EXPECT_FALSE(step_table(graph, schedule));
    EXPECT_FALSE(dot_graph(graph, schedule));
}

}  // namespace
}  // namespace rematlas
