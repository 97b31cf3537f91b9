// Bench of the least peak within a limit on the overhead. Compares the peak that Checkmate's integer program
// finds with the peak that atlas finds by bisection on the budget; both get the same time. CSV on standard
// output: name,run,value,unit.
//
//     bench_least_peak SECONDS GRAPH...
#include <cstdio>
#include <cstdlib>

#include "core/graph/graph_file.h"
#include "core/planning/solve.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/atlas.h"
#include "core/solvers/checkmate/least_peak_within.h"

namespace rematlas {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the least peak of the schedules that atlas finds within the overhead. Bisects over 12 budgets,
/// each of which gets an equal share of the time.
std::int64_t by_atlas(const Problem& problem, double overhead, double seconds) {
    std::int64_t low = least_peak(problem.flat).bytes.value - 1, high = keep_all_peak(problem.flat).value;
    for (int round = 0; round < 12 && low + 1 < high; ++round) {
        const Bytes budget(low + (high - low) / 2);
        std::stop_source enough;
        Limits limits{.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds / 12 * 1e9)),
                      .stop = enough.get_token()};
        const Answer answer = make_atlas()->solve(problem, budget, limits, [&](const ProgressReport& found) {
            if (found.peak <= budget && found.overhead <= overhead) enough.request_stop();
        });
        const auto* found = std::get_if<Solution>(&answer);
        if (found && found->overhead <= overhead)
            high = found->peak.value;
        else
            low = budget.value;
    }
    return high;
}

void print(const std::string& name, double overhead, const char* what, double value, const char* unit) {
    std::printf("%s,%.2f %s,%.9g,%s\n", name.c_str(), overhead, what, value, unit);
    std::fflush(stdout);
}

void measure(const Graph& graph, double overhead, double seconds) {
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    const Limits limits{.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9))};
    const Nanoseconds most_time(static_cast<std::int64_t>(overhead * static_cast<double>(flat.base_time)));
    const auto whole = static_cast<double>(keep_all_peak(flat).value);
    auto start = Clock::now();
    const Result<LeastPeak> least = least_peak_within(problem, most_time, limits);
    if (!least) {
        std::fprintf(stderr, "%s\n", least.error().message.c_str());
    } else {
        const auto peak = static_cast<double>(least->peak.value);
        print(graph.name, overhead, "least peak", peak / whole, "of_keep_all");
        print(graph.name, overhead, "least gap", peak / static_cast<double>(least->bound.value) - 1, "ratio");
        print(graph.name, overhead, "least gap over any order",
              peak / static_cast<double>(least->any_order.value) - 1, "ratio");
        print(graph.name, overhead, "least nodes", static_cast<double>(least->nodes), "nodes");
        print(graph.name, overhead, "least time", std::chrono::duration<double>(Clock::now() - start).count(),
              "s");
    }
    start = Clock::now();
    const auto found = static_cast<double>(by_atlas(problem, overhead, seconds));
    print(graph.name, overhead, "atlas peak", found / whole, "of_keep_all");
    print(graph.name, overhead, "atlas time", std::chrono::duration<double>(Clock::now() - start).count(),
          "s");
}

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "bench_least_peak SECONDS GRAPH...\n");
        return 2;
    }
    std::printf("name,run,value,unit\n");
    for (int i = 2; i < argc; ++i) {
        const auto graph = rematlas::read_graph(argv[i]);
        if (!graph) {
            std::fprintf(stderr, "%s: %s\n", argv[i], graph.error().message.c_str());
            return 2;
        }
        for (const double overhead : {1.05, 1.1, 1.3})
            rematlas::measure(*graph, overhead, std::atof(argv[1]));
    }
}
