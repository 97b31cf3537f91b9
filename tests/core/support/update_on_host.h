// A training graph written by hand, with an update that can run on the host, and two schedules for it.
#pragma once

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Three ops of 10 ns each. The last op updates the weight, whose home is the host; the update can run on the
/// host in 30 ns. Each tensor has 100 bytes, and a copy of it takes 100 ns.
inline Graph graph_with_update() {
    Graph graph;
    graph.name = "update";
    const auto tensor = [&](const char* name) {
        const TensorId id(static_cast<std::int32_t>(graph.tensors.size()));
        graph.tensors.push_back({name, Bytes(100), TensorKind::activation});
        return id;
    };
    const TensorId input = tensor("input"), weight = tensor("weight"), held = tensor("held"),
                   gradient = tensor("gradient");
    const auto op = [&](const char* name, Phase phase, std::vector<TensorId> inputs,
                        std::vector<TensorId> outputs) {
        Op made;
        made.name = name, made.time = Nanoseconds(10), made.phase = phase;
        made.inputs = std::move(inputs), made.outputs = std::move(outputs);
        graph.ops.push_back(made);
    };
    op("make", Phase::forward, {input}, {held});
    op("differentiate", Phase::backward, {held}, {gradient});
    op("update", Phase::optimizer, {gradient}, {});
    graph.ops[OpId(2)].mutates = {weight};
    graph.ops[OpId(2)].host_time = Nanoseconds(30);
    graph.device = Device{"test", Bytes(0), 1e9, 1e9};
    return graph;
}

/// Returns a schedule in which the activation is offloaded and fetched, and the update runs on the host.
inline Schedule with_update_on_host() {
    const TensorId held(2), gradient(3);
    Schedule schedule;
    schedule.graph = "update";
    schedule.homes.on_host = {TensorId(1)};
    schedule.steps = {Step::run(OpId(0)), Step::offload(held),     Step::free(held),       Step::fetch(held),
                      Step::run(OpId(1)), Step::offload(gradient), Step::run_host(OpId(2))};
    return schedule;
}

/// Returns a schedule in which the activation is only freed, and the weight is fetched to the device for its
/// update.
inline Schedule with_update_on_device() {
    const TensorId weight(1), held(2);
    Schedule schedule;
    schedule.graph = "update";
    schedule.homes.on_host = {weight};
    schedule.steps = {Step::run(OpId(0)), Step::fetch(weight),   Step::run(OpId(1)), Step::free(held),
                      Step::run(OpId(2)), Step::offload(weight), Step::free(weight)};
    return schedule;
}

}  // namespace rematlas
