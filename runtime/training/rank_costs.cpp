#include "runtime/training/rank_costs.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/capture/record_step.h"
#include "runtime/dispatch/collectives.h"
#include "runtime/training/planner.h"
#include "runtime/training/process_groups.h"

namespace rematlas {
namespace {

using nlohmann::json;

/// Returns how many ranks of the group are in the same node as the group's first rank.
int in_one_node(const std::vector<int>& ranks, int node) {
    return static_cast<int>(std::count_if(ranks.begin(), ranks.end(),
                                          [&](int rank) { return rank / node == ranks.front() / node; }));
}

/// Returns the bytes of the whole tensor, which is the input or the output of the collective.
Bytes whole_bytes(const Graph& graph, const Op& op) {
    Bytes given, made;
    for (const TensorId tensor : op.inputs) given += graph.tensors[tensor].bytes;
    for (const TensorId tensor : op.outputs) made += graph.tensors[tensor].bytes;
    return std::max(given, made);
}

}  // namespace

Result<RankCosts> rank_costs_from(const std::string& text) {
    const json item = json::parse(text);
    RankCosts costs{.links_given = item.at("links").get<std::string>()};
    Result<RankLinks> links = rank_links_named(costs.links_given);
    if (!links) return links.error();
    costs.links = links.take();
    for (const auto& [name, group] : item.at("groups").items())
        costs.groups[name] = {group.at("queue").get<std::string>(),
                              group.at("ranks").get<std::vector<int>>()};
    return costs;
}

Result<void> add_rank_costs(Graph& graph, const Tape& tape, const RankCosts& costs) {
    for (const OpId id : graph.ops.ids()) {
        const TapeOp& recorded = tape.ops[id];
        if (!is_collective(recorded.name)) continue;
        const std::string name = process_group_of(recorded);
        const auto found = costs.groups.find(name);
        if (found == costs.groups.end())
            return Error{recorded.name + " runs in process group '" + name +
                         "', which is none of the mesh's dimensions"};
        const RankGroup group{found->second.queue, static_cast<int>(found->second.ranks.size()),
                              in_one_node(found->second.ranks, costs.links.node())};
        Op& op = graph.ops[id];
        const RankCollective kind = rank_collective_from(recorded.name);
        const Bytes whole = whole_bytes(graph, op);
        const Result<Nanoseconds> time = costs.links.time_of(kind, whole, group);
        if (!time) return time.error();
        op.time = *time;
        op.workspace = Bytes(0);
        op.collective = Collective{group.queue, sent_bytes(kind, whole, group)};
    }
    add_provenance(graph, {{"links_between_ranks", costs.links_given}});
    return {};
}

void weigh_collectives(Graph& graph, const Tape& tape, double weight) {
    for (const OpId id : graph.ops.ids()) {
        if (!is_collective(tape.ops[id].name)) continue;
        const double longer = std::min(static_cast<double>(graph.ops[id].time.value) * weight, 1e15);
        graph.ops[id].time = Nanoseconds(std::llround(longer));
    }
    add_provenance(graph, {{"wire_weight", weight}});
}

Result<std::shared_ptr<Planner>> Planner::with_rank_costs(const RankCosts& costs) const {
    CapturedStep step{.graph = *graph_, .tape = tape_};
    if (Result<void> added = add_rank_costs(step.graph, tape_, costs); !added) return added.error();
    return with_step(std::move(step));
}

std::shared_ptr<Planner> Planner::with_wire_weight(double weight) const {
    CapturedStep step{.graph = *graph_, .tape = tape_};
    weigh_collectives(step.graph, tape_, weight);
    return with_step(std::move(step));
}

}  // namespace rematlas
