// Bench of atlas with copies to the host, by budget and by link, on one thread, with the same processor time
// for each run. CSV on standard output: name,run,value,unit. A run is named "BUDGET% of the peak, GB/s each
// way, what may be copied". In "contended" runs, the links are slower while both are busy, as on an A100: 24
// and 11 GB/s instead of 25. The step of a GPT-2 XL with AdamW is measured twice: with updates on the device
// only, and with updates that may also run on a host with a memory of 200 GB/s.
//
//     bench_copies [--seconds 10] [--only TEXT] [GRAPH.graph.json...]   // only runs with TEXT in their names
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/solvers/gpt2_xl.h"
#include "bench/solvers/thread_time.h"
#include "core/graph/graph_file.h"
#include "core/planning/solve.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/annealing/anneal_copies.h"
#include "core/solvers/atlas/atlas.h"

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

Problem problem_of(const Graph& graph, const FlatGraph& flat, double speed, Offload what,
                   bool contended = false) {
    Links links{.to_host_bytes_per_second = speed * 1e9, .to_device_bytes_per_second = speed * 1e9};
    if (contended) {
        links.to_host_contended_bytes_per_second = speed * 1e9 * 24 / 25;
        links.to_device_contended_bytes_per_second = speed * 1e9 * 11 / 25;
    }
    return {graph, flat, {.what = what, .links = links}};
}

std::string only;
bool is_wanted(const Problem& problem, const std::string& run) {
    return (problem.graph.name + "," + run).find(only) != std::string::npos;
}

Bytes budget_of(const FlatGraph& flat, double percent) {
    return Bytes(static_cast<std::int64_t>(percent / 100 * static_cast<double>(keep_all_peak(flat).value)));
}

void bench_answer(const Problem& problem, double percent, double speed, SharedProcessor& processor) {
    char run[96];
    const bool contended = problem.copies.links.to_host_contended_bytes_per_second > 0;
    std::snprintf(run, sizeof run, "%g%% %g GB/s%s %s", percent, speed, contended ? " contended" : "",
                  std::string(to_string(problem.copies.what)).c_str());
    if (!is_wanted(problem, run)) return;
    const Limits limits{.time = processor.limit(),
                        .gap = 0};  // the solve uses all its time, whatever the gap
    const Result<Outcome> outcome = solve(problem, *make_atlas({}), budget_of(problem.flat, percent), limits);
    processor.note_end();
    if (!outcome) return void(std::fprintf(stderr, "%s\n", outcome.error().message.c_str()));
    const char* name = problem.graph.name.c_str();
    if (const Schedule* schedule = outcome->schedule()) {
        std::printf("%s,%s,%.4f,overhead\n", name, run, schedule->overhead);
        if (schedule->bound) std::printf("%s,%s,%.4f,bound\n", name, run, schedule->bound->overhead);
    } else {
        std::printf("%s,%s,none,overhead\n", name, run);
    }
    std::fflush(stdout);
}

/// Measures only the annealing. Choose a budget at which many tensors are offloaded and many are recomputed.
void bench_moves(const Problem& problem, double percent, double speed) {
    if (!is_wanted(problem, "moves")) return;
    const annealing::CopyGraph graph = annealing::copy_graph(problem, budget_of(problem.flat, percent));
    const annealing::Repeats repeats = annealing::repeats_of(problem.graph);
    const AnnealingOptions options;
    const Deadline never({.time = std::chrono::hours(1)});
    annealing::CopyAnnealer annealer(
        problem, graph, annealing::start_of(problem, graph, required_once(problem.flat)),
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
    SharedProcessor processor(seconds);
    for (const double percent : settings.percents)
        for (const double speed : settings.speeds)
            bench_answer(problem_of(*graph, flat, speed, Offload::activations), percent, speed, processor);
    const double percent = settings.percents[settings.percents.size() / 2], speed = settings.speeds[1];
    bench_moves(problem_of(*graph, flat, speed, Offload::activations), percent, speed);
}

void bench_optimizer(bool on_host, double seconds) {
    Graph graph = gpt2_xl_step(on_host);
    graph.name = on_host ? "gpt2_xl_adamw_anywhere" : "gpt2_xl_adamw";
    const FlatGraph flat = flatten(graph);
    SharedProcessor processor(seconds);
    for (const double percent : {20.0, 10.0, 7.1})
        for (const double speed : {25.0, 55.0})
            for (const bool contended : {false, true})
                if (!contended || percent <= 10)
                    bench_answer(problem_of(graph, flat, speed, Offload::all, contended), percent, speed,
                                 processor);
    if (!on_host) bench_moves(problem_of(graph, flat, 55, Offload::all), 10, 55);
}

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    double seconds = 10;
    std::printf("name,run,value,unit\n");
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = std::atof(argv[++i]);
        else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            rematlas::only = argv[++i];
        else
            rematlas::bench_file(argv[i], seconds);
    }
    for (const bool on_host : {false, true}) rematlas::bench_optimizer(on_host, seconds);
}
