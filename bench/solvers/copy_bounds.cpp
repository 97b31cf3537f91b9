// Bench of the bounds with copies to the host, by budget and by link, and of their cost. CSV on standard
// output: name,run,value,unit. A run is named "BUDGET% of the peak, GB/s each way".
//
//     bench_copy_bounds [GRAPH.graph.json...]
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench/solvers/thread_time.h"
#include "core/bounds/best_bound.h"
#include "core/graph/graph_file.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/long_chain.h"

namespace rematlas {
namespace {

struct Settings {
    std::vector<double> percents, speeds;
};

Settings settings_of(const std::string& file) {
    if (file.find("gpt12b64") != std::string::npos) return {{30, 15, 10.3}, {12, 25, 55, 200}};
    if (file.find("gpt48b64") != std::string::npos) return {{50, 20, 7}, {25, 55, 200}};
    return {{20, 16.6}, {0.5, 1, 2}};
}

/// Computes bounds with exactly eight moments and prints them. With a time limit instead, the number of
/// linear programs would depend on the speed of the machine.
void bench_bound(const Graph& graph, const FlatGraph& flat, double percent, double speed,
                 const std::string& link) {
    const double peak = static_cast<double>(cost_of(flat, keep_all_sequence(flat)).peak);
    const Bytes budget(static_cast<std::int64_t>(percent / 100 * peak));
    char run[64];
    std::snprintf(run, sizeof run, "%g%% %s", percent, link.c_str());
    for (const bool activations_only : {true, false}) {
        const double start = cpu_seconds();
        const ProvenBound bound = best_bound(
            flat, budget,
            {.time = std::chrono::hours(1),
             .host = HostLinks{.to_host = speed, .to_device = speed, .activations_only = activations_only},
             .moments = 8});
        const double seconds = cpu_seconds() - start;
        std::printf("%s,%s %s,%.5f,overhead\n", graph.name.c_str(), run,
                    activations_only ? "activations" : "all", bound.overhead);
        std::printf("%s,%s %s,%.2f,s\n", graph.name.c_str(), run, activations_only ? "activations" : "all",
                    seconds);
        std::fflush(stdout);
    }
}

void bench_file(const char* path) {
    const Result<Graph> graph = read_graph(path);
    if (!graph) return void(std::fprintf(stderr, "%s\n", graph.error().message.c_str()));
    const FlatGraph flat = flatten(*graph);
    const Settings settings = settings_of(path);
    for (const double percent : settings.percents) {
        for (const double speed : settings.speeds) {
            char link[32];
            std::snprintf(link, sizeof link, "%g GB/s", speed);
            bench_bound(*graph, flat, percent, speed * 1e9, link);
        }
    }
}

/// Measures bounds of a chain in which no op may run twice. The links can copy the bytes of all tensors once
/// in each direction in 0.7 or 0.9 of the step's time.
void bench_chain(int layers) {
    Graph graph = long_chain(ChainKind::equal, layers);
    for (Op& op : graph.ops) op.recomputable = false;
    const FlatGraph flat = flatten(graph);
    std::int64_t bytes = 0;
    for (int t = 0; t < flat.tensor_count; ++t) bytes += flat.bytes[t];
    const double speed = 1e9 * static_cast<double>(bytes) / static_cast<double>(flat.base_time);
    for (const double percent : {30.0, 20.0}) {
        for (const double steps : {0.7, 0.9}) {
            char link[32];
            std::snprintf(link, sizeof link, "all in %g steps", steps);
            bench_bound(graph, flat, percent, speed / steps, link);
        }
    }
}

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    std::printf("name,run,value,unit\n");
    for (int i = 1; i < argc; ++i) rematlas::bench_file(argv[i]);
    for (const int layers : {12, 24, 48}) rematlas::bench_chain(layers);
}
