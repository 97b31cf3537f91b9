// Bench of the atlas solver: quality on reference problems, speed on large graphs. CSV on standard output:
// name,run,value,unit.
//
//     bench_atlas reference PROBLEMS_DIR [SECONDS] [NAME_PART]   every budget of reference.json
//     bench_atlas gpt [SECONDS]                                  GPT graphs of 2,249 and 8,969 ops
//     bench_atlas moves PROBLEMS_DIR [NAME_PART]                 moves per CPU second, large graphs too
//     bench_atlas files SECONDS GRAPH...                         captured graphs
//     bench_atlas smallest PROBLEMS_DIR [SECONDS]                smallest budget against the proven bound
//     bench_atlas tight PROBLEMS_DIR [SECONDS] [NAME_PART]       every budget of tight.json
#include "core/solvers/atlas/atlas.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/solvers/thread_time.h"
#include "core/base/files.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/annealing/anneal.h"
#include "core/solvers/annealing/greedy_start.h"
#include "core/solvers/atlas/smallest_budget.h"
#include "core/solving/answers.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/image_graphs.h"
#include "tests/core/support/irregular_graph.h"

namespace rematlas {

namespace {

void print(const std::string& name, const std::string& run, double value, const char* unit) {
    std::printf("%s,%s,%.9g,%s\n", name.c_str(), run.c_str(), value, unit);
    std::fflush(stdout);
}

Limits limits_of(double seconds) {
    return {.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9))};
}

/// Solves, checks the answer, and prints the overheads and the times of the first and the last schedule.
double bench_solve(const Graph& graph, const std::string& run, Bytes budget, double seconds,
                   double reference) {
    const FlatGraph flat = flatten(graph);
    const double start = cpu_seconds();
    double first = -1, last = -1;
    double best = 0;
    const auto progress = [&](const ProgressReport& incumbent) {
        if (first < 0) {
            first = cpu_seconds() - start;
            print(graph.name, run + " first", incumbent.overhead, "overhead");
        }
        if (incumbent.overhead != best) last = cpu_seconds() - start;
        best = incumbent.overhead;
    };
    const Answer answer = make_atlas()->solve({graph, flat}, budget, limits_of(seconds), progress);
    print(graph.name, run + " first", first, "s");
    print(graph.name, run + " end", cpu_seconds() - start, "s");
    const Solution* solution = std::get_if<Solution>(&answer);
    if (!solution) {
        const Infeasible& none = std::get<Infeasible>(answer);
        print(graph.name, run + " infeasible, smallest peak over budget",
              static_cast<double>(none.smallest_found->value) / static_cast<double>(budget.value), "ratio");
        return 0;
    }
    Schedule schedule;
    schedule.steps = solution->steps;
    schedule.peak = solution->peak;
    schedule.time = solution->time;
    schedule.overhead = solution->overhead;
    schedule.graph = graph.name;
    schedule.graph_sha256 = graph.sha256;
    const CheckReport report = check(graph, schedule, budget);
    if (!report.ok()) print(graph.name, run + " check: " + report.violations.front(), 1, "violations");
    print(graph.name, run + " last", last, "s");
    print(graph.name, run, solution->overhead, "overhead");
    if (solution->bound) {
        print(graph.name, run + " bound", solution->bound->overhead, "overhead");
        print(graph.name, run + " gap", 100 * solution->bound->gap, "%");
    }
    if (reference > 0)
        print(graph.name, run + " over best known", 100 * (solution->overhead / reference - 1), "%");
    return solution->overhead;
}

nlohmann::json json_of(const std::filesystem::path& path) {
    const Result<std::string> text = read_file(path);
    if (!text) {
        std::fprintf(stderr, "%s\n", text.error().message.c_str());
        std::exit(2);
    }
    return nlohmann::json::parse(*text);
}

void for_each_graph(const std::filesystem::path& folder, const std::string& part,
                    const std::function<void(const Graph&, const nlohmann::json&)>& visit) {
    const nlohmann::json reference = json_of(folder / "reference.json");
    for (const auto& [name, entries] : reference.items()) {
        const std::filesystem::path path = folder / (name + ".graph.json");
        if (name.find(part) == std::string::npos || !std::filesystem::exists(path)) continue;
        const Result<Graph> graph = read_graph(path);
        if (graph) visit(*graph, entries);
    }
}

void bench_reference(const std::filesystem::path& folder, double seconds, const std::string& part) {
    for_each_graph(folder, part, [&](const Graph& graph, const nlohmann::json& entries) {
        for (const auto& entry : entries) {
            const std::string run = "fraction " + entry.at("fraction").dump();
            bench_solve(graph, run, Bytes(entry.at("budget_bytes").get<std::int64_t>()), seconds,
                        entry.at("best_known_overhead").get<double>());
        }
    });
}

void bench_tight(const std::filesystem::path& folder, double seconds, const std::string& part) {
    const nlohmann::json tight = json_of(folder / "tight.json");
    for (const auto& [name, entry] : tight.items()) {
        if (!entry.is_object() || name.find(part) == std::string::npos) continue;
        const Result<Graph> graph = read_graph(folder / (name + ".graph.json"));
        if (!graph) continue;
        for (const auto& [mib, overhead] : entry.at("overhead").items())
            bench_solve(*graph, mib + " MiB", Bytes(static_cast<std::int64_t>(std::stod(mib) * (1 << 20))),
                        seconds, overhead.get<double>());
    }
}

std::vector<Graph> gpt_graphs() {
    return {gpt_graph({.layers = 40}), gpt_graph({.layers = 160})};
}

std::vector<Graph> large_graphs() {
    std::vector<Graph> graphs = gpt_graphs();
    graphs.push_back(densenet_graph());
    graphs.push_back(densenet_graph({.layers = {6, 12, 48, 32}}));
    for (const int ops : {100, 300, 900}) graphs.push_back(irregular_graph({.forward_ops = ops}));
    return graphs;
}

std::int64_t budget_at(const FlatGraph& flat, double fraction) {
    const double least = static_cast<double>(least_peak(flat).bytes.value);
    const double most = static_cast<double>(cost_of(flat, required_once(flat)).peak);
    return static_cast<std::int64_t>(least + fraction * (most - least));
}

/// Solves at budgets between the largest footprint of an op and the peak without recomputation.
void bench_graph(const Graph& graph, double seconds) {
    const FlatGraph flat = flatten(graph);
    print(graph.name, "size", flat.op_count, "ops");
    for (const double fraction : {0.1, 0.3, 0.5})
        bench_solve(graph, "fraction " + std::to_string(fraction).substr(0, 3),
                    Bytes(budget_at(flat, fraction)), seconds, 0);
}

/// Prints the moves of the annealing per second of CPU time, measured over cycles of one second. The first
/// cycle is left out.
void bench_moves(const Graph& graph, const FlatGraph& flat, double fraction) {
    const std::int64_t budget = budget_at(flat, fraction);
    const Deadline deadline(limits_of(60));
    Candidate start = annealing::best_start(flat, budget, Candidate::of(flat, required_once(flat)), deadline,
                                            1, [](const Candidate&) {});
    const AnnealingOptions options;
    annealing::Annealer annealer(flat, budget, std::move(start), options, 1);
    const auto go_on = [](const Candidate&) { return true; };
    annealer.run_cycle(20'000, 1, deadline, go_on);
    const double begin = cpu_seconds();
    std::uint64_t moves = 0;
    while (cpu_seconds() - begin < 1) {
        annealer.run_cycle(20'000, 1, deadline, go_on);
        moves += 20'000;
    }
    print(graph.name, "fraction " + std::to_string(fraction).substr(0, 3),
          static_cast<double>(moves) / (cpu_seconds() - begin), "moves/s");
}

void bench_smallest(const std::filesystem::path& folder, double seconds) {
    for_each_graph(folder, "", [&](const Graph& graph, const nlohmann::json&) {
        const FlatGraph flat = flatten(graph);
        const double begin = cpu_seconds();
        const SmallestBudget smallest = smallest_feasible(flat, limits_of(seconds));
        print(graph.name, "smallest over bound",
              static_cast<double>(smallest.peak.value) / static_cast<double>(least_peak(flat).bytes.value),
              "ratio");
        print(graph.name, "smallest", cpu_seconds() - begin, "s");
    });
}

int run(const std::vector<std::string>& arguments) {
    const auto argument = [&](std::size_t i, const std::string& otherwise) {
        return i < arguments.size() ? arguments[i] : otherwise;
    };
    const std::string mode = argument(0, "");
    std::printf("name,run,value,unit\n");
    if (mode == "reference") {
        bench_reference(argument(1, "."), std::stod(argument(2, "5")), argument(3, ""));
    } else if (mode == "gpt") {
        for (const Graph& graph : gpt_graphs()) bench_graph(graph, std::stod(argument(1, "5")));
    } else if (mode == "files") {
        for (std::size_t i = 2; i < arguments.size(); ++i) {
            const Result<Graph> graph = read_graph(arguments[i]);
            if (graph)
                bench_graph(*graph, std::stod(arguments[1]));
            else
                std::fprintf(stderr, "%s\n", graph.error().message.c_str());
        }
    } else if (mode == "moves") {
        for_each_graph(argument(1, "."), argument(2, ""), [](const Graph& graph, const nlohmann::json&) {
            const FlatGraph flat = flatten(graph);
            for (const double fraction : {0.1, 0.3}) bench_moves(graph, flat, fraction);
        });
        for (const Graph& graph : large_graphs()) {
            if (graph.name.find(argument(2, "")) == std::string::npos) continue;
            for (const double fraction : {0.1, 0.3}) bench_moves(graph, flatten(graph), fraction);
        }
    } else if (mode == "tight") {
        bench_tight(argument(1, "."), std::stod(argument(2, "10")), argument(3, ""));
    } else if (mode == "smallest") {
        bench_smallest(argument(1, "."), std::stod(argument(2, "1")));
    } else {
        std::fprintf(stderr, "usage: bench_atlas reference|gpt|moves|files|smallest|tight ...\n");
        return 2;
    }
    return 0;
}

}  // namespace

}  // namespace rematlas

int main(int count, char** values) {
    return rematlas::run({values + 1, values + count});
}
