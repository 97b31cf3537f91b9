// The bounds for steps whose updates may run on the host must not be above the time of any schedule.
#include "core/bounds/host_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "core/bounds/best_bound.h"
#include "core/bounds/least_footprint.h"
#include "core/bounds/resident_traffic.h"
#include "core/checking/check.h"
#include "core/schedule/run_sequence.h"
#include "core/solving/copies.h"
#include "tests/core/support/brute_force_with_host.h"
#include "tests/core/support/random_copies.h"

namespace rematlas {
namespace {

using std::chrono::seconds;

class Draw {
  public:
    explicit Draw(std::uint64_t seed) : random_(seed * 2862933555777941757ull + 3) {}
    int from(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  private:
    std::mt19937_64 random_;
};

/// Returns a step with one layer, or with two layers that share a parameter or have a parameter each. The
/// updates of the parameters may run on the host.
Graph tiny_step(std::uint64_t seed) {
    Draw draw(seed);
    Graph graph;
    graph.name = "tiny" + std::to_string(seed);
    const auto tensor = [&](TensorKind kind) {
        return graph.tensors.push_back({"t", Bytes(draw.from(1, 8)), kind});
    };
    const auto op = [&](Phase phase, std::vector<TensorId> inputs, std::vector<TensorId> outputs) -> Op& {
        Op& added = graph.ops[graph.ops.push_back({})];
        added.name = "op";
        added.phase = phase;
        added.time = Nanoseconds(draw.from(1, 6));
        std::sort(inputs.begin(), inputs.end());
        inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
        added.inputs = std::move(inputs);
        added.outputs = std::move(outputs);
        return added;
    };
    const int layers = draw.from(1, 2);
    const bool shared = draw.from(0, 1) == 0;
    std::vector<TensorId> parameters, made;
    for (int i = 0; i < layers; ++i) {
        parameters.push_back(i > 0 && shared ? parameters[0] : tensor(TensorKind::parameter));
        std::vector<TensorId> read{parameters[static_cast<std::size_t>(i)]};
        if (i > 0) read.push_back(made.back());
        made.push_back(tensor(TensorKind::activation));
        op(Phase::forward, read, {made.back()});
    }
    TensorId error = tensor(TensorKind::gradient);
    op(Phase::loss, {made.back()}, {error});
    std::vector<TensorId> gradients;
    for (int i = layers; i-- > 0;) {
        const auto at = static_cast<std::size_t>(i);
        const TensorId gradient = tensor(TensorKind::gradient);
        std::vector<TensorId> outputs{gradient};
        if (i > 0) outputs.push_back(tensor(TensorKind::gradient));
        op(Phase::backward, {error, made[at], parameters[at]}, outputs);
        error = outputs.back();
        gradients.insert(gradients.begin(), gradient);
    }
    const int updates = shared ? 1 : layers;
    for (int i = 0; i < updates; ++i) {
        const auto at = static_cast<std::size_t>(i);
        std::vector<TensorId> mutated{parameters[at]};
        if (draw.from(0, 1) == 0) mutated.push_back(tensor(TensorKind::optimizer_state));
        std::vector<TensorId> read = mutated;
        read.push_back(gradients[at]);
        if (shared && layers == 2) read.push_back(gradients[1]);
        std::vector<TensorId> outputs;
        if (draw.from(0, 5) == 0) outputs.push_back(tensor(TensorKind::activation));
        Op& update = op(Phase::optimizer, read, outputs);
        update.mutates = mutated;
        update.time = Nanoseconds(draw.from(1, 20));
        if (i == 0 || draw.from(0, 1) == 0) update.host_time = Nanoseconds(draw.from(0, 12));
    }
    for (const TensorId gradient : gradients)
        if (draw.from(0, 3) == 0) graph.results.push_back(gradient);
    if (graph.results.empty() && draw.from(0, 1) == 0) graph.results.push_back(made.back());
    const auto speed = [&] { return 1e9 / (0.25 * draw.from(1, 12)); };
    graph.device =
        Device{.name = "d",
               .memory = {},
               .links = {.to_host_bytes_per_second = speed(), .to_device_bytes_per_second = speed()}};
    return graph;
}

std::int64_t bound_of(const Graph& graph, Bytes budget, const Links& links) {
    const FlatGraph flat = flatten(graph);
    const StepWithoutHostOps host = step_without_host_ops(graph, flat);
    return best_bound(host.device, budget,
                      {.time = seconds(60), .host = fastest_of(links), .host_ops = host.ops})
        .time;
}

std::int64_t traffic_of(const Graph& graph, Bytes budget, Offload what) {
    const FlatGraph flat = with_results_from_host(graph, flatten(graph));
    return resident_traffic(graph, flat, {may_leave(graph, {.what = what}), fastest_of(graph.device->links)},
                            budget);
}

struct Proven {
    int cases = 0, met = 0, faster_than_here = 0, above_required = 0, by_traffic = 0;
};

void compare_with_exhaustive_search(const Graph& graph, const HostSearch& search, Proven& proven) {
    const FlatGraph flat = flatten(graph);
    const std::int64_t least = least_footprint(graph, flat).bytes.value,
                       most = cost_of(flat, keep_all_sequence(flat)).peak;
    const StepWithoutHostOps host = step_without_host_ops(graph, flat);
    std::int64_t required = 0;
    for (int op = 0; op < flat.op_count; ++op) required += host.device.required[op] ? flat.time[op] : 0;
    for (const std::int64_t budget : {least, (2 * least + most) / 3, (least + 2 * most) / 3, most}) {
        const auto best = brute_force_with_host(graph, budget, search);
        if (!best) continue;
        const std::int64_t bound = bound_of(graph, Bytes(budget), graph.device->links);
        EXPECT_LE(bound, *best) << graph.name << " at " << budget;
        EXPECT_GE(bound, required) << graph.name << " at " << budget;
        const std::int64_t traffic = traffic_of(graph, Bytes(budget), Offload::all);
        EXPECT_LE(traffic, *best) << graph.name << " at " << budget;
        proven.by_traffic += traffic > 0;
        ++proven.cases;
        proven.met += bound == *best;
        proven.faster_than_here += *best < flat.base_time;
        proven.above_required += bound > required;
    }
}

TEST(HostOps, AreNotProvenToTakeMoreThanTheBestScheduleOfTinySteps) {
    Proven proven;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const Graph graph = tiny_step(seed);
        if (graph.tensors.size() > 9) continue;
        compare_with_exhaustive_search(graph, {.at_any_time = seed % 3 == 0, .states = 8000, .homes = true},
                                       proven);
    }
    RecordProperty("cases", proven.cases);
    RecordProperty("met", proven.met);
    EXPECT_GT(proven.cases, 30);
    EXPECT_GT(proven.met, 5);
    EXPECT_GT(proven.faster_than_here, 3) << "some gain by the host";
    EXPECT_GT(proven.above_required, 20);
}

TEST(HostOps, AreNotProvenToTakeMoreThanTheBestScheduleWhereStatesAreHeavy) {
    Proven proven;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Graph graph = tiny_step(seed);
        if (graph.tensors.size() > 5) continue;
        Draw draw(seed);
        for (Op& op : graph.ops) {
            if (op.phase != Phase::optimizer) continue;
            op.host_time = Nanoseconds(draw.from(1, 100));
            const TensorId state =
                graph.tensors.push_back({"heavy", Bytes(draw.from(20, 60)), TensorKind::optimizer_state});
            op.inputs.push_back(state);
            op.mutates.push_back(state);
        }
        compare_with_exhaustive_search(graph, {.at_any_time = false, .states = 20'000, .homes = true},
                                       proven);
    }
    RecordProperty("cases", proven.cases);
    RecordProperty("by_traffic", proven.by_traffic);
    EXPECT_GT(proven.cases, 10);
    EXPECT_GT(proven.by_traffic, 5);
}

TEST(HostOps, AreNotProvenToTakeMoreThanSchedulesMadeAtRandom) {
    int schedules = 0, on_host = 0, cyclic = 0, of_traffic = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const Graph graph = random_graph_with_links(seed);
        if (step_without_host_ops(graph, flatten(graph)).ops.empty()) continue;
        for (std::uint64_t i = 0; i < 10; ++i) {
            const Schedule schedule = random_schedule_with_copies(graph, 10 * seed + i);
            const CheckReport report = check(graph, schedule);
            if (!report.ok()) continue;
            ++schedules;
            on_host += report.host_runs > 0;
            cyclic += schedule.homes.cyclic;
            EXPECT_LE(bound_of(graph, report.peak, graph.device->links), report.time.value)
                << graph.name << ", schedule " << i;
            const std::int64_t traffic = traffic_of(graph, report.peak, Offload::all);
            EXPECT_LE(traffic, report.time.value) << graph.name << ", schedule " << i;
            of_traffic += traffic > 0;
        }
    }
    EXPECT_GT(of_traffic, 15);
    EXPECT_GT(schedules, 300);
    EXPECT_GT(on_host, 50);
    EXPECT_GT(cyclic, 30);
}

TEST(HostOps, AreDividedAmongTheDeviceTheHostAndTheLinks) {
    Graph graph;
    graph.name = "one";
    const TensorId parameter = graph.tensors.push_back({"p", Bytes(100), TensorKind::parameter});
    const TensorId gradient = graph.tensors.push_back({"g", Bytes(100), TensorKind::gradient});
    Op backward;
    backward.name = "backward";
    backward.phase = Phase::backward;
    backward.time = Nanoseconds(10);
    backward.inputs = {parameter};
    backward.outputs = {gradient};
    graph.ops.push_back(backward);
    Op update;
    update.name = "update";
    update.phase = Phase::optimizer;
    update.time = Nanoseconds(80);
    update.inputs = {parameter, gradient};
    update.mutates = {parameter};
    update.host_time = Nanoseconds(30);
    graph.ops.push_back(update);
    const auto bound_at = [&](double bytes_per_second) {
        const Links links{.to_host_bytes_per_second = bytes_per_second,
                          .to_device_bytes_per_second = bytes_per_second};
        return bound_of(graph, Bytes(1000), links);
    };
    // In the relaxation, after the product, a part h of the update runs on the host, and the rest on the
    // device. With the best h, host and device take equally long, copies included:
    EXPECT_EQ(bound_at(1e15), 32) << "80 (1 - h) = 30 h";
    EXPECT_EQ(bound_at(2e9), 41) << "80 (1 - h) = 50 h, which the copy of the gradient takes";
    EXPECT_EQ(bound_at(1e8), 85) << "80 (1 - h) = 1000 h";
}

/// A step with a loss, a backward product and an update. The parameter and its state take 300 bytes together.
TEST(ResidentTraffic, CountsWhatComesBackAfterAMomentAndWhatLeaves) {
    Graph graph;
    graph.name = "two";
    const auto tensor = [&](std::int64_t bytes, TensorKind kind) {
        return graph.tensors.push_back({"t", Bytes(bytes), kind});
    };
    const TensorId parameter = tensor(100, TensorKind::parameter),
                   state = tensor(200, TensorKind::optimizer_state);
    const TensorId loss = tensor(50, TensorKind::activation), gradient = tensor(50, TensorKind::gradient);
    const auto op = [&](Phase phase, std::int64_t time, std::vector<TensorId> in,
                        std::vector<TensorId> out) -> Op& {
        Op added;
        added.name = "op";
        added.phase = phase;
        added.time = Nanoseconds(time);
        added.inputs = std::move(in), added.outputs = std::move(out);
        return graph.ops[graph.ops.push_back(std::move(added))];
    };
    op(Phase::loss, 10, {}, {loss});
    op(Phase::backward, 10, {parameter, loss}, {gradient});
    Op& update = op(Phase::optimizer, 10, {parameter, state, gradient}, {});
    update.mutates = {parameter, state};
    graph.device =
        Device{.name = "d", .links = {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9}};
    EXPECT_EQ(traffic_of(graph, Bytes(400), Offload::all), 0) << "all has room";
    // During the product, at most 100 of the 300 bytes fit beside the gradient and the loss. The other 200
    // bytes are fetched after the product.
    EXPECT_EQ(traffic_of(graph, Bytes(200), Offload::all), 20 + 200);
    EXPECT_EQ(traffic_of(graph, Bytes(200), Offload::activations), 0) << "residents stay";
    graph.ops[OpId(2)].host_time = Nanoseconds(60);
    // If the update runs on the host, the parameter is fetched once and the state never.
    EXPECT_EQ(traffic_of(graph, Bytes(200), Offload::all), 100);
    graph.ops[OpId(2)].host_time = Nanoseconds(600);
    // In the relaxation, a part h of the update runs on the host, from 20 ns on. The link fetches the state
    // for the rest of the update, and the parameter for the part h: 200 (1 - h) + 100 h = 20 + 600 h.
    EXPECT_EQ(traffic_of(graph, Bytes(200), Offload::all), 175);
}

}  // namespace
}  // namespace rematlas
