// Feeds arbitrary bytes to the reader of graphs. If it reads a small graph, decomposes the graph, plays the
// schedule without recomputation, and solves the graph with a solver and a budget that the bytes choose.
// Nothing may overflow, no answer may be refused by the checker, and the budget of the schedule without
// recomputation must not be called too small.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/hierarchy/decompose.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "tests/fuzz/is_read.h"

namespace {

using namespace rematlas;

constexpr std::size_t kMostOps = 60;
constexpr auto kTime = std::chrono::milliseconds(20);

/// Returns a number that depends on all bytes of the text (FNV-1a).
std::uint64_t number_of(const std::string& text) {
    std::uint64_t number = 14695981039346656037U;
    for (const char byte : text) number = (number ^ static_cast<std::uint8_t>(byte)) * 1099511628211U;
    return number ^ (number >> 32);
}

void solve_and_compare(const Graph& graph, const FlatGraph& flat, Bytes peak, std::uint64_t number) {
    const auto solvers = all_solvers();
    SolveRequest request{.solver = std::string(solvers[number % solvers.size()]->traits.name),
                         .limits = {.time = kTime, .seed = 1}};
    const std::int64_t share = static_cast<std::int64_t>(number / 64 % 9);
    if (graph.device && number / 1024 % 2) request.copies.what = Offload::all;
    request.budget = std::max(Bytes(1), Bytes(peak.value / 8 * share));
    if (share == 8) request.budget = peak;
    const Result<Outcome> outcome = solve({graph, flat}, request);
    if (!outcome && outcome.error().message.find("please report it") != std::string::npos) std::abort();
    if (!outcome || !outcome->infeasible()) return;
    if (outcome->infeasible()->proven && outcome->budget >= peak) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const auto graph = parse_graph(text, "graph");
    if (!is_read(graph) || graph->ops.size() > kMostOps) return 0;
    decompose(*graph);
    const FlatGraph flat = flatten(*graph);
    Schedule schedule;
    schedule.graph = graph->name;
    schedule.steps = lower(flat, keep_all_sequence(flat));
    const auto played = simulate(*graph, schedule);
    const CheckReport report = check(*graph, schedule);
    if (!played || !report.ok() || played->peak != report.peak || played->time != report.time) std::abort();
    solve_and_compare(*graph, flat, played->peak, number_of(text));
    return 0;
}
