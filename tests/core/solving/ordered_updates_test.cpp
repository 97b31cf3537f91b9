// Tests steps that end with the updates of an optimizer. Even if a solver knows nothing about residents, ops
// that read a parameter must run before its update.
#include "core/solving/ordered_updates.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/checking/check.h"
#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/update_order.h"
#include "tests/core/support/ending_solvers.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

Op update_of(TensorId parameter, TensorId gradient) {
    Op op;
    op.name = "update";
    op.time = Nanoseconds(1);
    op.inputs = {gradient, parameter};
    op.phase = Phase::optimizer;
    op.mutates = {parameter};
    op.recomputable = false;
    return op;
}

/// Returns the graph with random updates, each of a new parameter. The update follows a backward op and reads
/// its output, and an earlier op reads the parameter.
Graph with_updates(const Graph& graph, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Graph updated = graph;
    updated.ops = {};
    for (OpId id : graph.ops.ids()) {
        updated.ops.push_back(graph.ops[id]);
        const Op& op = graph.ops[id];
        if (op.phase != Phase::backward || op.outputs.empty() || random() % 2) continue;
        updated.tensors.push_back({"w" + std::to_string(id.value), Bytes(10), TensorKind::parameter});
        const TensorId parameter(updated.tensors.size() - 1);
        Op& reader = updated.ops[OpId(random() % updated.ops.size())];
        if (reader.phase == Phase::optimizer) continue;
        reader.inputs.push_back(parameter);
        updated.ops.push_back(update_of(parameter, op.outputs.front()));
    }
    return updated;
}

bool is_valid(const Graph& graph, const std::vector<Step>& steps) {
    Schedule schedule;
    schedule.steps = steps;
    return check(graph, schedule).ok();
}

TEST(OrderedUpdates, WaitForTheLastRunOfWhatReadsBefore) {
    Graph graph = small_graph();
    graph.tensors.push_back({"w", Bytes(10), TensorKind::parameter});
    const TensorId parameter(6), gradient(4);
    graph.ops[OpId(0)].inputs.push_back(parameter);
    const OpId update = graph.ops.push_back(update_of(parameter, gradient));
    const FlatGraph flat = flatten(graph);
    const RunSequence early{0, 1, 2, 3, update.value, 0, 4};
    EXPECT_FALSE(is_valid(graph, lower(flat, early)));
    EXPECT_EQ(behind_readers(graph, early), (RunSequence{0, 1, 2, 3, 0, update.value, 4}));
    EXPECT_TRUE(is_valid(graph, lower(flat, behind_readers(graph, early))));
    const RunSequence late{0, 1, 2, 3, 0, 4, update.value};
    EXPECT_EQ(behind_readers(graph, late), late);
}

TEST(OrderedUpdates, OfAGraphWithoutAnyThereIsNothingToOrder) {
    EXPECT_FALSE(has_ordered_updates(small_graph()));
    EXPECT_EQ(behind_readers(small_graph(), {0, 1, 2, 3, 4}), (RunSequence{0, 1, 2, 3, 4}));
}

TEST(OrderedUpdates, BehindEverythingElseAreAStepThatIsValidToo) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Graph graph = with_updates(random_training_graph(seed), seed);
        std::vector<OpId> all;
        for (const Update& update : updates_of(graph)) all.push_back(update.op);
        const Reordered last = with_last(graph, all);
        ASSERT_TRUE(validate(last.graph)) << seed;
        RunSequence ours;
        for (OpId op : last.graph.ops.ids()) {
            EXPECT_EQ(last.graph.ops[op].name, graph.ops[last.op_of[op.index()]].name);
            ours.push_back(last.op_of[op.index()].value);
        }
        EXPECT_TRUE(is_valid(graph, lower(flatten(graph), ours))) << seed;
    }
}

/// Returns a graph in which each update consists of several ops, as in the recorded step of an optimizer. The
/// ops scale a state, add to the state and read it, update the parameter, and update its average.
Graph with_updates_in_pieces(const Graph& graph, std::uint64_t seed) {
    Graph updated = with_updates(graph, seed);
    std::vector<std::pair<TensorId, TensorId>> parameters;
    for (OpId id : updated.ops.ids())
        if (updated.ops[id].phase == Phase::optimizer)
            parameters.emplace_back(updated.ops[id].mutates.front(), updated.ops[id].inputs.front());
    const auto add = [&](std::vector<TensorId> inputs, std::vector<TensorId> mutates) {
        Op op = update_of({}, {});
        op.inputs = std::move(inputs);
        op.mutates = std::move(mutates);
        op.recomputable = op.mutates.empty();
        if (op.mutates.empty()) {
            updated.tensors.push_back({"root", Bytes(5), TensorKind::activation});
            op.outputs = {TensorId(updated.tensors.size() - 1)};
        }
        return updated.ops.push_back(op);
    };
    for (const auto& [parameter, gradient] : parameters) {
        updated.tensors.push_back({"state", Bytes(10), TensorKind::optimizer_state});
        const TensorId state(updated.tensors.size() - 1);
        updated.tensors.push_back({"average", Bytes(10), TensorKind::optimizer_state});
        const TensorId average(updated.tensors.size() - 1);
        add({state}, {state});
        add({state, gradient}, {state});
        const OpId root = add({state}, {});
        add({parameter, updated.ops[root].outputs.front()}, {parameter});
        add({average, parameter}, {average});
    }
    return updated;
}

TEST(OrderedUpdates, WhatReadsAfterAnUpdateWaitsForIt) {
    const Graph graph = with_updates_in_pieces(random_training_graph(0), 0);
    ASSERT_TRUE(validate(graph));
    ASSERT_EQ(graph.ops[OpId(graph.ops.size() - 1)].phase, Phase::optimizer);
    const InOrderOfUpdates ordered = in_order_of_updates(graph);
    EXPECT_TRUE(ordered.differs);
    EXPECT_TRUE(ordered.runs_once) << "what reads the parameter in the forward part";
    EXPECT_TRUE(validate(ordered.graph));
    EXPECT_EQ(ordered.graph.ops.size(), graph.ops.size());
    EXPECT_FALSE(in_order_of_updates(small_graph()).differs);
}

TEST(OrderedUpdates, EverySolversAnswersAreValid) {
    int found = 0, invalid_alone = 0;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        const Graph base = random_training_graph(seed / 2);
        const Graph graph = seed % 2 ? with_updates_in_pieces(base, seed / 2) : with_updates(base, seed / 2);
        ASSERT_TRUE(validate(graph)) << seed;
        const FlatGraph flat = flatten(graph);
        const Bytes budget((keep_all_peak(flat).value + 2 * least_peak(flat).bytes.value) / 3);
        for (const SolverEntry* entry : all_solvers()) {
            const std::string name(entry->traits.name);
            const bool ends = ends_by_itself(name);
            const Limits limits{.time = ends ? std::chrono::nanoseconds(1h) : 60ms};
            const Result<Outcome> outcome =
                solve(graph, {.solver = name, .budget = budget, .limits = limits});
            ASSERT_TRUE(outcome) << name << " " << seed << ": " << outcome.error().message;
            if (const Schedule* schedule = outcome->schedule()) {
                found += ends;
                EXPECT_TRUE(is_valid(graph, schedule->steps)) << name << " " << seed;
                EXPECT_LE(schedule->peak, budget);
            }
            if (!ends) continue;
            const Answer alone = make_solver(name).take()->solve({graph, flat}, budget, limits, {});
            if (const auto* solution = std::get_if<Solution>(&alone))
                invalid_alone += !is_valid(graph, solution->steps);
        }
    }
    EXPECT_GT(found, 20);
    EXPECT_GT(invalid_alone, 0) << "the graphs do not ask for any order";
}

}  // namespace
}  // namespace rematlas
