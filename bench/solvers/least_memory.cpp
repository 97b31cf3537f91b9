// Bench of the proven least memory: by how much it exceeds the largest footprint of an op, and how the CPU
// time depends on the size of the graph. CSV on standard output: name,run,value,unit.
//
//     bench_least_memory [GRAPH...]
#include "core/bounds/least_memory.h"

#include <cstdio>
#include <ctime>

#include "core/graph/graph_file.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

void measure(const std::string& name, const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    const std::clock_t start = std::clock();
    const PeakBound bound = least_memory(flat, {.time = std::chrono::seconds(60)});
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const auto print = [&](const char* run, double value, const char* unit) {
        std::printf("%s,%s,%.9g,%s\n", name.c_str(), run, value, unit);
    };
    print("ops", flat.op_count, "ops");
    print("largest footprint", static_cast<double>(least_peak(flat).bytes.value), "bytes");
    print("least memory", static_cast<double>(bound.bytes.value), "bytes");
    print("CPU time", seconds, "s");
    std::fflush(stdout);
}

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    using namespace rematlas;
    std::printf("name,run,value,unit\n");
    for (const int layers : {12, 48, 124})
        measure("gpt of " + std::to_string(layers) + " layers", gpt_graph({.layers = layers}));
    for (const int ops : {250, 1000, 4500})
        measure("random of " + std::to_string(ops) + " forward ops",
                random_training_graph(5, {.forward_ops = ops}));
    for (int i = 1; i < argc; ++i) {
        const auto graph = read_graph(argv[i]);
        if (!graph) {
            std::fprintf(stderr, "%s: %s\n", argv[i], graph.error().message.c_str());
            return 2;
        }
        measure(graph->name, *graph);
    }
}
