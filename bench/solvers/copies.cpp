// Bench of atlas with copies to the host, by budget and by link, one thread. CSV on standard output: name,run,value,unit.
// Run as "BUDGET% of the peak, GB/s each way, what may be copied".
//
//     bench_copies [--seconds 10] [GRAPH.graph.json...]        // beside these: a GPT-2 XL with AdamW
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/solvers/thread_time.h"
#include "core/graph/graph_file.h"
#include "core/planning/solve.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/annealing/anneal_copies.h"
#include "core/solvers/atlas/atlas.h"
#include "tests/core/support/gpt_graph.h"

namespace rematlas {
namespace {

constexpr std::uint64_t kTimedMoves = 100'000;

struct Settings {
    std::vector<double> percents, speeds;
};

Settings settings_of(const std::string& file) {
    if (file.find("gpt12b64") != std::string::npos) return {{80, 50, 30, 15, 10.3}, {12, 25, 55, 200}};
    if (file.find("gpt48b64") != std::string::npos) return {{50, 20, 7}, {25, 55, 200}};
    return {{20, 16.6}, {0.5, 1, 2}};
}

Problem problem_of(const Graph& graph, const FlatGraph& flat, double speed, Offload what) {
    const Links links{.to_host_bytes_per_second = speed * 1e9, .to_device_bytes_per_second = speed * 1e9};
    return {graph, flat, {.what = what, .links = links}};
}

Bytes budget_of(const FlatGraph& flat, double percent) {
    return Bytes(static_cast<std::int64_t>(percent / 100 * static_cast<double>(keep_all_peak(flat).value)));
}

void bench_answer(const Problem& problem, double percent, double speed, double seconds) {
    const Limits limits{.time = std::chrono::milliseconds(static_cast<int>(1000 * seconds))};
    const Result<Outcome> outcome = solve(problem, *make_atlas({}), budget_of(problem.flat, percent), limits);
    if (!outcome) return void(std::fprintf(stderr, "%s\n", outcome.error().message.c_str()));
    char run[96];
    std::snprintf(run, sizeof run, "%g%% %g GB/s %s", percent, speed,
                  std::string(to_string(problem.copies.what)).c_str());
    if (const Schedule* schedule = outcome->schedule())
        std::printf("%s,%s,%.4f,overhead\n", problem.graph.name.c_str(), run, schedule->overhead);
    else
        std::printf("%s,%s,none,overhead\n", problem.graph.name.c_str(), run);
    std::fflush(stdout);
}

/// Of the annealing alone, at a budget where much is away and much is made again.
void bench_moves(const Problem& problem, double percent, double speed) {
    const annealing::CopyGraph graph = annealing::copy_graph(problem);
    const annealing::Repeats repeats = annealing::repeats_of(problem.graph);
    const AnnealingOptions options;
    const Deadline never({.time = std::chrono::hours(1)});
    annealing::CopyAnnealer annealer(
        problem, graph,
        {.runs = annealing::with_early_updates(problem, graph, required_once(problem.flat)), .aways = {}},
        {.budget = budget_of(problem.flat, percent), .repeats = &repeats}, options);
    annealer.make_room(never);
    const auto goes_on = [](const Solution&) { return true; };
    annealer.run_cycle(kTimedMoves, 1, never, goes_on);
    const double start = cpu_seconds();
    annealer.run_cycle(kTimedMoves, 1, never, goes_on);
    std::printf("%s,%g%% %g GB/s %s,%.0f,moves/s\n", problem.graph.name.c_str(), percent, speed,
                std::string(to_string(problem.copies.what)).c_str(),
                static_cast<double>(kTimedMoves) / (cpu_seconds() - start));
    std::fflush(stdout);
}

void bench_file(const char* path, double seconds) {
    const Result<Graph> graph = read_graph(path);
    if (!graph) return void(std::fprintf(stderr, "%s\n", graph.error().message.c_str()));
    const FlatGraph flat = flatten(*graph);
    const Settings settings = settings_of(path);
    for (const double percent : settings.percents)
        for (const double speed : settings.speeds)
            bench_answer(problem_of(*graph, flat, speed, Offload::activations), percent, speed, seconds);
    const double percent = settings.percents[settings.percents.size() / 2], speed = settings.speeds[1];
    bench_moves(problem_of(*graph, flat, speed, Offload::activations), percent, speed);
}

void bench_optimizer(double seconds) {
    Graph graph = gpt_graph(gpt2_xl_with_adamw());
    graph.name = "gpt2_xl_adamw";
    const FlatGraph flat = flatten(graph);
    for (const double percent : {20.0, 10.0, 7.1})
        for (const double speed : {25.0, 55.0})
            bench_answer(problem_of(graph, flat, speed, Offload::all), percent, speed, seconds);
    bench_moves(problem_of(graph, flat, 55, Offload::all), 10, 55);
}

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    double seconds = 10;
    std::printf("name,run,value,unit\n");
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = std::atof(argv[++i]);
        else
            rematlas::bench_file(argv[i], seconds);
    }
    rematlas::bench_optimizer(2 * seconds);
}
