// Tests a lower bound on the peak for a host with little memory. An exhaustive search for tiny steps and
// random schedules of larger steps must not find a lower peak.
#include "core/bounds/least_footprint.h"

#include <gtest/gtest.h>

#include <string>

#include "core/checking/check.h"
#include "core/schedule/run_sequence.h"
#include "core/solving/answers.h"
#include "tests/core/support/brute_force_with_host.h"
#include "tests/core/support/random_copies.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

Graph tiny_graph(std::uint64_t seed) {
    Graph graph = seed % 4 == 0   ? random_odd_graph(seed, 4)
                  : seed % 4 == 1 ? random_training_graph(seed, {.forward_ops = 1})
                                  : random_chain(seed, 2, seed % 4 == 2);
    graph.device = Device{.name = "d",
                          .memory = {},
                          .links = {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9}};
    return graph;
}

TEST(LeastPeakBesideHost, NoScheduleOfTinyStepsGoesBelow) {
    int cases = 0, met = 0, raised = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const Graph graph = tiny_graph(seed);
        if (graph.tensors.size() > 7 || graph.ops.empty()) continue;
        const FlatGraph flat = flatten(graph);
        const std::int64_t most = keep_all_peak(flat).value;
        for (const std::int64_t host : {std::int64_t{0}, most / 8, most / 4, most / 2}) {
            const Problem problem{
                graph,
                flat,
                {.what = Offload::all, .links = graph.device->links, .host_budget = Bytes(host)}};
            const std::int64_t floor = std::max(infeasible_from(problem, Bytes(0), {}).needed,
                                                least_memory_beside_host(graph, flat, Bytes(host), {}).bytes)
                                           .value;
            const HostSearch search{.at_any_time = true, .states = 4000, .homes = true, .host_budget = host};
            const std::string name = graph.name + " with " + std::to_string(host) + " on the host";
            EXPECT_FALSE(brute_force_with_host(graph, floor - 1, search)) << name;
            ++cases;
            raised += Bytes(floor) > least_footprint(graph, flat).bytes;
            met += brute_force_with_host(graph, floor, search).has_value();
        }
    }
    RecordProperty("cases", cases);
    RecordProperty("met", met);
    RecordProperty("raised", raised);
    EXPECT_GT(cases, 400);
    EXPECT_GT(raised, 100);
    EXPECT_GT(met, 100);
}

TEST(LeastPeakBesideHost, NoScheduleMadeAtRandomGoesBelow) {
    int schedules = 0, on_host = 0, close = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const Graph graph = random_graph_with_links(seed);
        const FlatGraph flat = flatten(graph);
        for (std::uint64_t i = 0; i < 10; ++i) {
            const CheckReport report = check(graph, random_schedule_with_copies(graph, 10 * seed + i));
            if (!report.ok()) continue;
            const Bytes peak = least_peak_beside_host(graph, flat, report.host_peak).bytes;
            EXPECT_LE(peak, report.peak) << graph.name << ", schedule " << i;
            EXPECT_LE(least_memory_beside_host(graph, flat, report.host_peak, {}).bytes, report.peak)
                << graph.name << ", schedule " << i;
            ++schedules;
            on_host += report.host_peak > Bytes(0);
            close += 2 * peak.value > report.peak.value;
        }
    }
    RecordProperty("schedules", schedules);
    RecordProperty("close", close);
    EXPECT_GT(schedules, 500);
    EXPECT_GT(on_host, 300);
    EXPECT_GT(close, 20);
}

TEST(LeastPeakBesideHost, WithNoRoomOnTheHostIsThatWithoutCopies) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Graph graph = tiny_graph(seed);
        const FlatGraph flat = flatten(graph);
        EXPECT_EQ(least_peak_beside_host(graph, flat, Bytes(0)).bytes, least_peak(flat).bytes);
        EXPECT_EQ(least_peak_beside_host(graph, flat, least_peak(flat).bytes).bytes, Bytes(0));
    }
}

}  // namespace
}  // namespace rematlas
