// Feeds arbitrary bytes to the reader of plans, which must read them or refuse with one line.
//
// The digest in a plan refuses nearly all changes of its graph. Therefore, if the first line of the bytes is
// a graph and the rest is a schedule, this program also makes a plan of both with the right digest. The
// reader must read this plan, and the simulator and the checker must agree on it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"
#include "tests/fuzz/is_read.h"
#include "tests/fuzz/players_agree.h"

namespace {

using namespace rematlas;

std::string plan_text(std::string_view graph, const Schedule& schedule) {
    const std::string steps = schedule_text(schedule);
    const nlohmann::json head = {{"format", "rematlas.plan"},
                                 {"version", 1},
                                 {"graph_bytes", graph.size()},
                                 {"schedule_bytes", steps.size()}};
    return head.dump() + "\n" + std::string(graph) + steps;
}

void play_lines(std::string_view graph_line, std::string_view schedule_line) {
    const auto graph = parse_graph(graph_line, "graph");
    if (!is_read(graph)) return;
    auto schedule = parse_schedule(schedule_line, "schedule");
    if (!is_read(schedule)) return;
    schedule->graph_sha256 = graph->sha256;
    const auto plan = parse_plan(plan_text(graph_line, *schedule), "plan");
    if (!plan || schedule_text(plan->schedule) != schedule_text(*schedule)) std::abort();
    // The simulator does not compare a schedule with its budget and its predictions.
    const Schedule& read = plan->schedule;
    Schedule played{.graph = read.graph, .steps = read.steps, .homes = read.homes, .links = read.links};
    players_must_agree(plan->graph, played);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    is_read(parse_plan(text, "plan"));
    const std::size_t line = text.find('\n');
    if (line != std::string_view::npos) play_lines(text.substr(0, line), text.substr(line + 1));
    return 0;
}
