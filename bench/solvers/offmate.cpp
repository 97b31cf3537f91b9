// Bench of recomputation with copies to the host, compared with recomputation alone, by budget and by link.
// CSV on standard output: name,run,value,unit. A run is named "BUDGET% of the peak, GB/s each way, what may
// be copied"; "recompute" is Rockmate or HiRemate.
//
//     bench_offmate SECONDS GRAPH.graph.json...      offmate's answers within SECONDS of wall clock time
//     bench_offmate SECONDS adamw                    a GPT with parameters and AdamW states that do not fit
#include "core/solvers/offmate/offmate.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "bench/solvers/gpt2_xl.h"
#include "core/checking/check.h"
#include "core/graph/graph_file.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {
namespace {

constexpr double kSpeeds[] = {25, 55, 200};  // GB/s
constexpr double kShares[] = {0.5, 0.3, 0.15};

double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void print(const Graph& graph, const std::string& run, double value, const char* unit) {
    std::printf("%s,%s,%.6g,%s\n", graph.name.c_str(), run.c_str(), value, unit);
    std::fflush(stdout);
}

/// Solves and prints the overhead; prints 0 if no schedule was found. Answers that the checker refuses are
/// not printed.
void bench(const Graph& graph, const FlatGraph& flat, Copies copies, double share, const std::string& run,
           double seconds) {
    const Bytes budget(static_cast<std::int64_t>(share * static_cast<double>(keep_all_peak(flat).value)));
    const Limits limits{.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9))};
    const double before = cpu_seconds();
    const Answer answer = make_offmate()->solve({graph, flat, copies}, budget, limits, {});
    const double used = cpu_seconds() - before;
    const auto* solution = std::get_if<Solution>(&answer);
    if (solution) {
        Schedule schedule;
        schedule.graph_sha256 = graph.sha256;
        schedule.steps = solution->steps;
        schedule.homes = solution->homes;
        const CheckReport report = check(graph, schedule, budget);
        if (!report.ok()) return void(std::fprintf(stderr, "%s\n", report.violations.front().c_str()));
    }
    print(graph, run, solution ? solution->overhead : 0, "overhead");
    print(graph, run, used, "s");
}

void bench_all(Graph graph, const std::vector<double>& shares, Offload what, double seconds) {
    const FlatGraph flat = flatten(graph);
    for (const double share : shares) {
        char percent[32];
        std::snprintf(percent, sizeof percent, "%g%%", 100 * share);
        bench(graph, flat, {}, share, std::string(percent) + " recompute", seconds);
        for (const double speed : kSpeeds) {
            graph.device.emplace();
            graph.device->links = {.to_host_bytes_per_second = speed * 1e9,
                                   .to_device_bytes_per_second = speed * 1e9};
            char run[64];
            std::snprintf(run, sizeof run, "%s %g %s", percent, speed, std::string(to_string(what)).c_str());
            bench(graph, flat, {.what = what, .links = graph.device->links}, share, run, seconds);
        }
    }
}

/// Measures twice: with updates on the device only, and with updates that may also run on a host with a
/// memory of 200 GB/s.
void bench_adamw(double seconds) {
    for (const bool on_host : {false, true}) {
        Graph graph = gpt2_xl_step(on_host);
        graph.name = on_host ? "gpt2-xl adamw anywhere" : "gpt2-xl adamw";
        bench_all(std::move(graph), {0.2, 0.1}, Offload::all, seconds);
    }
}

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    using namespace rematlas;
    if (argc < 3) return std::fprintf(stderr, "bench_offmate SECONDS GRAPH.graph.json... | adamw\n"), 2;
    std::printf("name,run,value,unit\n");
    for (int i = 2; i < argc; ++i) {
        if (std::strcmp(argv[i], "adamw") == 0) {
            bench_adamw(std::atof(argv[1]));
            continue;
        }
        Result<Graph> graph = read_graph(argv[i]);
        if (!graph) return std::fprintf(stderr, "%s\n", graph.error().message.c_str()), 1;
        bench_all(graph.take(), {std::begin(kShares), std::end(kShares)}, Offload::activations,
                  std::atof(argv[1]));
    }
}
