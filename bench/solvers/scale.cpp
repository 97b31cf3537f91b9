// Bench of how the time of solvers grows with the graph. CSV on standard output: name,run,value,unit.
//
//     bench_scale [SOLVER] [SECONDS] [NAME_PART]
//
// Each graph is solved for two budgets, each in a new process. The budgets lie between the proven least
// memory (0 %) and the peak without recomputation (100 %): at 30 % and at 60 %. The rows have the time of the
// first answer, the time of the first answer within 2 % of the final overhead, the time of the whole solve,
// the final overhead, the proven bound, and the most memory that the process held. Solvers that cache options
// of blocks begin with an empty cache. These solvers have two more rows: `next budget` is the time for a
// budget that is 5 % higher, with the cache that the first solve has filled. `next budget of a sweep` is the
// time for that budget after the tables for a sweep have been made.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "core/bounds/least_memory.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "core/solving/answers.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/image_graphs.h"
#include "tests/core/support/irregular_graph.h"

namespace rematlas {

namespace {

void print_scale(const std::string& name, const std::string& run, double value, const char* unit) {
    std::printf("%s,%s,%.9g,%s\n", name.c_str(), run.c_str(), value, unit);
    std::fflush(stdout);
}

std::vector<Graph> scale_graphs() {
    std::vector<Graph> graphs;
    for (const int layers : {12, 24, 48, 96}) graphs.push_back(gpt_graph({.layers = layers}));
    graphs.push_back(gpt_graph({.layers = 24, .encoder_layers = 24}));
    graphs.push_back(unet_graph({.depth = 6}));
    graphs.push_back(densenet_graph());
    graphs.push_back(densenet_graph({.layers = {6, 12, 48, 32}}));
    for (const int ops : {200, 1000, 4000}) graphs.push_back(irregular_graph({.forward_ops = ops}));
    return graphs;
}

bool keeps_options(const std::string& solver) {
    return solver == "hiremate" || solver == "hilp" || solver == "rockmate";
}

double most_resident_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Measures the time for one budget of a sweep, after the tables for all budgets of the sweep have been made.
void bench_sweep(const Problem& problem, const std::string& solver, Bytes budget, const Limits& limits,
                 const std::string& run) {
    const auto prepared = (*make_solver(solver))->up_to(problem, budget, limits);
    const auto start = std::chrono::steady_clock::now();
    (void)prepared->solve(problem, budget, limits, {});
    print_scale(problem.graph.name, run + " next budget of a sweep",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), "s");
}

void bench_one(const Graph& graph, const std::string& solver, double fraction, double seconds) {
    using Clock = std::chrono::steady_clock;
    const FlatGraph flat = flatten(graph);
    const double least = static_cast<double>(least_memory(flat).bytes.value);
    const double most = static_cast<double>(cost_of(flat, required_once(flat)).peak);
    const auto budget = [&](double at) {
        return Bytes(static_cast<std::int64_t>(least + at * (most - least)));
    };
    const std::string run = solver + "@" + std::to_string(fraction).substr(0, 3);
    const std::filesystem::path cache =
        std::filesystem::temp_directory_path() / ("rematlas-bench-" + std::to_string(getpid()));
    SolveRequest request{
        .solver = solver,
        .budget = Budget{budget(fraction)},
        .limits = {.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9))}};
    if (keeps_options(solver)) request.limits.cache = cache;
    Clock::time_point start = Clock::now();
    const auto now = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    std::vector<std::pair<double, double>> found;
    const auto progress = [&](const ProgressReport& report) {
        if (found.empty() || report.overhead < found.back().second)
            found.emplace_back(now(), report.overhead);
    };
    const Problem problem{graph, flat};
    const Result<Outcome> outcome = solve(problem, request, progress);
    print_scale(graph.name, run + " end", now(), "s");
    print_scale(graph.name, run + " memory", most_resident_mib(), "MiB");
    if (keeps_options(solver)) {
        const Bytes next = budget(fraction + 0.05);
        request.budget = Budget{next};
        start = Clock::now();
        (void)solve(problem, request, {});
        print_scale(graph.name, run + " next budget", now(), "s");
        bench_sweep(problem, solver, next, request.limits, run);
        std::filesystem::remove_all(cache);
    }
    if (!outcome || !outcome->schedule()) {
        print_scale(graph.name, run + " not found", 1, "answers");
        return;
    }
    const Schedule* schedule = outcome->schedule();
    if (found.empty()) found.emplace_back(now(), schedule->overhead);
    print_scale(graph.name, run + " first", found.front().first, "s");
    print_scale(graph.name, run + " first", found.front().second, "overhead");
    for (const auto& [at, overhead] : found) {
        if (overhead > 1.02 * schedule->overhead) continue;
        print_scale(graph.name, run + " within 2 %", at, "s");
        break;
    }
    print_scale(graph.name, run, schedule->overhead, "overhead");
    if (schedule->bound) print_scale(graph.name, run + " bound", schedule->bound->overhead, "overhead");
}

int bench_scale(const std::string& solver, double seconds, const std::string& part) {
    std::printf("name,run,value,unit\n");
    for (const Graph& graph : scale_graphs()) {
        if (graph.name.find(part) == std::string::npos) continue;
        print_scale(graph.name, "size", static_cast<double>(graph.ops.size()), "ops");
        for (const double fraction : {0.3, 0.6}) {
            std::fflush(stdout);
            const pid_t child = fork();
            if (child == 0) {
                bench_one(graph, solver, fraction, seconds);
                _exit(0);
            }
            int status = 0;
            if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) return 1;
        }
    }
    return 0;
}

}  // namespace

}  // namespace rematlas

int main(int count, char** values) {
    const std::string solver = count > 1 ? values[1] : "atlas";
    return rematlas::bench_scale(solver, count > 2 ? std::stod(values[2]) : 60, count > 3 ? values[3] : "");
}
