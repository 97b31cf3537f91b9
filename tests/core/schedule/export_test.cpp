#include "core/schedule/export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/schedule/run_sequence.h"
#include "tests/core/support/small_graph.h"

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
