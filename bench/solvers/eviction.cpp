// Bench of choosing which storages to evict, on programs with many storages. CSV on standard output:
// name,run,value,unit.
//
//     bench_eviction [STORAGES...]
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "bench/solvers/thread_time.h"
#include "core/dtr/evict_online.h"
#include "tests/core/dtr/random_trace.h"

namespace rematlas {
namespace {

struct Heuristic {
    const char* name;
    DtrHeuristic heuristic;
};
constexpr Heuristic kAll[] = {{"dtr-eq", DtrHeuristic::dtr_eq}, {"dtr", DtrHeuristic::dtr},
                              {"local", DtrHeuristic::local},   {"lru", DtrHeuristic::lru},
                              {"size", DtrHeuristic::size},     {"msps", DtrHeuristic::msps}};

/// Returns the trace of forward and backward of a model with `ops` ops in blocks, each of which has a skip
/// connection. The sizes of tensors and the times of ops differ by orders of magnitude.
Trace training_trace(int ops) {
    std::mt19937_64 random(1);
    const auto drawn = [&](std::int64_t most) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1;
    };
    Trace trace;
    struct Layer {
        std::vector<int> inputs;
        int made;
    };
    std::vector<Layer> layers;
    const int weights = trace.constant(1000);
    int last = trace.constant(1000), block = last;
    for (int i = 0; i < ops; ++i) {
        std::vector<int> inputs{last, weights};
        if (i % 8 == 7) inputs.push_back(block);
        const std::int64_t bytes = 64 * drawn(1 << drawn(14));
        last = trace.call({.time = 20 + bytes / drawn(100), .inputs = inputs}, {{.bytes = bytes}}).front();
        if (i % 8 == 7) block = last;
        layers.push_back({inputs, last});
    }
    int gradient = trace.call({.time = 20}, {{.bytes = 64}}).front();
    for (std::size_t i = layers.size(); i-- > 0;) {
        std::vector<int> inputs = layers[i].inputs;
        inputs.push_back(gradient);
        const int next = trace
                             .call({.time = trace.ops[i].time * 2, .inputs = inputs},
                                   {{.bytes = 64 * drawn(1 << drawn(14))}})
                             .front();
        trace.release(gradient);
        trace.release(layers[i].made);
        gradient = next;
    }
    return trace;
}

void bench(const std::string& name, const Trace& trace) {
    const double peak = static_cast<double>(unbounded_peak(trace).value);
    for (const auto& [heuristic, which] : kAll) {
        for (const double share : {0.9, 0.5, 0.1}) {
            const Bytes budget(static_cast<std::int64_t>(share * peak));
            const double start = cpu_seconds();
            const DtrOutcome outcome = evict_online(trace, budget, {.heuristic = which, .thrash = 2});
            const double seconds = cpu_seconds() - start;
            const std::string run = std::string(heuristic) + "@" + std::to_string(share).substr(0, 3);
            std::printf("%s,%s,%.6g,overhead\n", name.c_str(), run.c_str(), outcome.overhead());
            std::printf("%s,%s,%.6g,us an eviction\n", name.c_str(), run.c_str(),
                        1e6 * seconds / static_cast<double>(std::max<std::int64_t>(outcome.evictions, 1)));
            std::printf("%s,%s,%.6g,s\n", name.c_str(), run.c_str(), seconds);
            std::fflush(stdout);
        }
    }
}

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    std::vector<int> sizes;
    for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
    if (sizes.empty()) sizes = {1'000, 10'000, 100'000};
    std::printf("name,run,value,unit\n");
    for (const int size : sizes) {
        rematlas::bench("chain-" + std::to_string(size), rematlas::unit_chain_trace(size));
        rematlas::bench("training-" + std::to_string(size), rematlas::training_trace(size));
    }
}
