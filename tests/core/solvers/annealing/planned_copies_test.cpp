// Tests that after every move the incremental model of copies equals a newly made model, and that its memory
// agrees with the simulator.
#include "core/solvers/annealing/planned_copies.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/schedule/simulate.h"
#include "core/solvers/annealing/away_moves.h"
#include "core/solvers/annealing/emit_copies.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_copies.h"
#include "tests/core/support/random_graph.h"

namespace rematlas::annealing {
namespace {

/// The state of a run sequence with the gaps in which tensors are away: on the host, not on the device
/// (run_profile.h). Equal states have equal snapshots, however they were reached.
struct Snapshot {
    RunSequence runs;
    std::vector<std::array<std::int64_t, 4>>
        aways;  ///< tensor; place of the use that ends the gap; places of the first run without the tensor
                ///< and of the first run with it again (-1 for both: no run is without the tensor)
    std::vector<std::int64_t> memory;
    std::int64_t time = 0, copied = 0, excess = 0;
    bool operator==(const Snapshot&) const = default;
};

/// Prints a snapshot in the messages of failed tests.
void PrintTo(const Snapshot& of, std::ostream* out) {
    *out << "time " << of.time << ", copied " << of.copied << ", excess " << of.excess << ", away";
    for (const auto& [tensor, use, first, behind] : of.aways)
        *out << " " << tensor << ":" << first << "-" << behind << "<" << use;
    *out << ", memory";
    for (const std::int64_t bytes : of.memory) *out << " " << bytes;
}

Snapshot snapshot_of(const RunProfile& profile, const PlannedCopies& copies) {
    Snapshot now{.runs = profile.sequence(),
                 .aways = {},
                 .memory = {},
                 .time = copies.time(),
                 .copied = copies.copied(),
                 .excess = profile.excess()};
    for (const RunProfile::Away& away : profile.aways()) {
        if (away.tensor < 0) continue;
        const bool gone = away.first != away.behind;
        const std::int64_t behind = !gone                              ? -1
                                    : away.behind == RunProfile::kNone ? -2  // the tensor never comes back
                                                                       : copies.place(away.behind);
        now.aways.push_back(
            {away.tensor, copies.place(away.use), gone ? copies.place(away.first) : -1, behind});
    }
    std::sort(now.aways.begin(), now.aways.end());
    for (const RunProfile::Node run : copies.runs()) now.memory.push_back(profile.memory(run));
    return now;
}

/// Returns the snapshot of the same runs and gaps in a newly made profile.
Snapshot made_anew(const CopyGraph& graph, const Snapshot& of, std::int64_t budget, const Links& links,
                   bool slow) {
    RunProfile profile(graph.flat, budget, of.runs);
    PlannedCopies copies(graph, profile, links, slow);
    for (const auto& away : of.aways) {
        const bool end = away[1] == static_cast<std::int64_t>(of.runs.size());
        profile.set_away(static_cast<int>(away[0]),
                         end ? RunProfile::kEnd : static_cast<RunProfile::Node>(away[1] + 1));
    }
    copies.settle();
    return snapshot_of(profile, copies);
}

struct Played {
    int states = 0, refused = 0, timed = 0, gone = 0, on_host = 0;
};

/// Says whether some run of the profile needs the value that a tensor had before an update that has already
/// run. A profile with such a run is not a valid schedule, and must exceed every budget.
bool keeps_what_was_updated(const CopyGraph& graph, const RunProfile& profile) {
    for (int op = 0; op < graph.real_ops; ++op) {
        const auto pairs = graph.flat.inplace_pairs(op);
        if (pairs.empty() || graph.resident[pairs.front().out] < 0) continue;
        if (profile.in_place(profile.runs_of(op).front())) continue;
        EXPECT_GT(profile.peak(), keep_all_peak(graph.flat).value);
        return true;
    }
    return false;
}

/// Writes the profile as steps and simulates them. The bytes at each run must be those of the model. The time
/// must not be larger than in the model, unless the model assumes faster copies than the simulator
/// (`faster`).
void expect_played_as_told(const Graph& graph, const CopyGraph& copy_graph, const RunProfile& profile,
                           const PlannedCopies& copies, bool faster, Played& played) {
    if (keeps_what_was_updated(copy_graph, profile)) return;
    ++played.states;
    const auto [steps, homes] = emit(copy_graph, profile, copies);
    const Result<Simulation> simulation = simulate(graph, steps, homes);
    if (!simulation) {
        ++played.refused;
        ASSERT_NE(simulation.error().message.find("still on its way"), std::string::npos)
            << simulation.error().message;
        return;
    }
    std::size_t at = 0;
    for (const RunProfile::Node run : copies.runs()) {
        if (run == RunProfile::kEnd || profile.op(run) >= copy_graph.real_ops) continue;
        while (!steps[at].runs()) ++at;
        ASSERT_EQ(steps[at].id, profile.op(run));
        ASSERT_EQ(simulation->steps[at].during.value, profile.memory(run)) << "step " << at;
        ++at;
    }
    // If a copy to the host frees no bytes in the profile, the steps omit the copy or make it later, so the
    // times can differ.
    const auto aways = profile.aways();
    const bool all_gone = std::all_of(aways.begin(), aways.end(), [](const RunProfile::Away& away) {
        return away.tensor < 0 || away.first != away.behind;
    });
    played.timed += all_gone && !faster;
    // In the model, an update on the host waits for the copy of one input only, so its time can be too short.
    if (all_gone && !faster && copy_graph.host.runs.empty()) {
        ASSERT_LE(simulation->time.value, copies.time() + 2) << graph.name << " (copies are rounded)";
    }
    for (const Step& step : steps) {
        played.gone += step.kind == StepKind::fetch;
        played.on_host += step.kind == StepKind::run_host;
    }
}

/// Sets the gaps of the state in `profile`, which must be newly made from the runs of the state. The profile
/// numbers its runs from 1.
void send_away(RunProfile& profile, const CopyState& state) {
    for (const auto& [tensor, use] : state.aways)
        profile.set_away(tensor,
                         use == static_cast<std::int32_t>(state.runs.size()) ? RunProfile::kEnd : use + 1);
}

void walk(const Graph& graph, std::uint64_t seed, int moves, const Repeats* repeats, Played& played,
          Offload what = Offload::activations, bool updates_on_host = false) {
    const FlatGraph flat = flatten(graph);
    const Links& links = graph.device->links;
    const Problem problem{graph, flat, {.what = what, .links = links}};
    const std::int64_t budget = (least_peak(flat).bytes.value + keep_all_peak(flat).value) / 2;
    const UpdateChoice on_host = updates_on_host ? UpdateChoice(graph.ops.size(), 1) : UpdateChoice();
    const CopyGraph copy = copy_graph(problem, Bytes(budget), on_host);
    const CopyState start = start_of(problem, copy, required_once(flat));
    RunProfile profile(copy.flat, budget, start.runs);
    const bool contended =
        links.to_host_contended_bytes_per_second > 0 || links.to_device_contended_bytes_per_second > 0;
    const bool slow = contended && seed % 3 != 1;
    PlannedCopies copies(copy, profile, links, slow);
    Random random(seed);
    AwayMoves proposals(copy, profile, copies, random, repeats);
    send_away(profile, start);
    copies.settle();
    profile.commit();
    Snapshot before = snapshot_of(profile, copies);
    for (int i = 0; i < moves && !testing::Test::HasFatalFailure(); ++i) {
        proposals.propose({});
        copies.settle();
        const Snapshot now = snapshot_of(profile, copies);
        ASSERT_EQ(now, made_anew(copy, now, budget, links, slow)) << graph.name << ", move " << i;
        expect_played_as_told(graph, copy, profile, copies, contended && !slow, played);
        if (profile.size() < 3 * static_cast<std::size_t>(flat.op_count) && random.chance(0.6)) {
            profile.commit();
            before = now;
            continue;
        }
        profile.undo();
        copies.settle();
        ASSERT_EQ(snapshot_of(profile, copies), before) << graph.name << ", undone move " << i;
    }
}

Graph linked(Graph graph, std::uint64_t seed) {
    graph.device = random_graph_with_links(seed).device;
    return graph;
}

TEST(CopyModel, AreThoseOfAModelMadeFromNothingAfterEveryMove) {
    Played played;
    for (std::uint64_t seed = 1; seed <= 40; ++seed)
        walk(linked(random_training_graph(seed, {.forward_ops = 3 + static_cast<int>(seed % 12)}), seed),
             seed, 150, nullptr, played);
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        walk(linked(random_chain(seed, 4 + static_cast<int>(seed % 9)), seed), seed, 150, nullptr, played);
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        walk(linked(random_odd_graph(seed, 6 + static_cast<int>(seed % 20)), seed), seed, 100, nullptr,
             played);
    EXPECT_GT(played.gone, 1000);
    EXPECT_GT(played.timed, 400);
    EXPECT_LT(played.refused, played.states / 10);
}

TEST(CopyModel, HoldsForResidentsThatLiveOnTheHostToo) {
    Played played;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        Graph graph = random_graph_with_links(seed);
        if (seed % 2 == 0)
            graph.device->links.to_host_contended_bytes_per_second =
                graph.device->links.to_device_contended_bytes_per_second = 0;
        for (Tensor& tensor : graph.tensors)  // inputs would never leave the device
            if (tensor.kind == TensorKind::input) tensor.kind = TensorKind::parameter;
        walk(graph, seed, 150, nullptr, played, seed % 3 == 0 ? Offload::weights : Offload::all);
    }
    EXPECT_GT(played.gone, 2000);
    EXPECT_GT(played.timed, 100);
    EXPECT_LT(played.refused, played.states / 10);
}

TEST(CopyModel, HoldsForUpdatesOnTheHostToo) {
    Played played;
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        walk(random_graph_with_links(seed), seed, 100, nullptr, played, Offload::all, true);
    EXPECT_GT(played.on_host, 1000);
    EXPECT_LT(played.refused, played.states / 10);
}

TEST(CopyModel, MovesInEqualBlocksAreTakenBackToo) {
    Graph graph = gpt_graph({.layers = 3});
    graph.device = Device{.name = "d",
                          .memory = {},
                          .links = {.to_host_bytes_per_second = 25e9, .to_device_bytes_per_second = 25e9}};
    const Repeats repeats = repeats_of(graph);
    Played played;
    walk(graph, 5, 800, &repeats, played);
    EXPECT_GT(played.gone, 100);
}

/// Returns the gaps in ascending order. A gap has three numbers: the tensor, the op whose run ends the gap
/// (-1 for the end of the step), and the index of this run among the op's runs.
std::vector<std::array<std::int32_t, 3>> gaps_of(const CopyState& state) {
    std::vector<std::array<std::int32_t, 3>> gaps;
    for (const auto& [tensor, use] : state.aways) {
        const auto end = state.runs.begin() + use;
        const bool at_end = end == state.runs.end();
        gaps.push_back({tensor, at_end ? -1 : *end,
                        at_end ? 0 : static_cast<std::int32_t>(std::count(state.runs.begin(), end, *end))});
    }
    std::sort(gaps.begin(), gaps.end());
    return gaps;
}

TEST(CopyModel, WhatActivationsAloneComeToIsTheSameWhereMoreMayLeave) {
    std::size_t gaps = 0;
    int played = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const Graph graph = random_graph_with_links(seed);
        const FlatGraph flat = flatten(graph);
        const Links& links = graph.device->links;
        const Problem less{graph, flat, {.what = Offload::activations, .links = links}};
        const Problem more{graph, flat, {.what = Offload::all, .links = links}};
        const std::int64_t budget = (least_peak(flat).bytes.value + keep_all_peak(flat).value) / 2;
        const CopyGraph some = copy_graph(less, Bytes(budget)), all = copy_graph(more, Bytes(budget));
        RunProfile profile(some.flat, budget, start_of(less, some, required_once(flat)).runs);
        PlannedCopies copies(some, profile, links, false);
        Random random(seed);
        AwayMoves proposals(some, profile, copies, random, nullptr);
        for (int i = 0; i < 60; ++i) {
            proposals.propose({});
            copies.settle();
            profile.commit();
        }
        CopyState found{.runs = profile.sequence(), .aways = {}};
        for (const RunProfile::Away& away : profile.aways())
            if (away.tensor >= 0)
                found.aways.emplace_back(away.tensor, static_cast<std::int32_t>(copies.place(away.use)));
        const CopyState start = start_of(more, all, some, found);
        EXPECT_EQ(gaps_of(start), gaps_of(found)) << "seed " << seed;
        gaps += found.aways.size();

        RunProfile same(all.flat, budget, start.runs);
        PlannedCopies same_copies(all, same, links, false);
        send_away(same, start);
        same_copies.settle();
        const auto play = [&](const CopyGraph& of, const RunProfile& runs, const PlannedCopies& moved) {
            const auto [steps, homes] = emit(of, runs, moved);
            return simulate(graph, steps, homes);
        };
        const Result<Simulation> before = play(some, profile, copies), now = play(all, same, same_copies);
        if (!before || !now) continue;
        ++played;
        // If all tensors may leave the device, updates run as early as possible. So they free memory earlier.
        EXPECT_LE(now->peak, before->peak) << "seed " << seed;
    }
    EXPECT_GT(gaps, 100U);
    EXPECT_GT(played, 50);
}

TEST(CopyModel, GapsOfAScheduleAreThoseThatItWasWrittenOf) {
    int fetched = 0, at_home_there = 0, in_vain = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Graph graph = random_graph_with_links(seed);
        for (Tensor& tensor : graph.tensors)  // inputs would never leave the device
            if (tensor.kind == TensorKind::input) tensor.kind = TensorKind::parameter;
        const FlatGraph flat = flatten(graph);
        const Problem problem{
            graph,
            flat,
            {.what = seed % 2 == 0 ? Offload::all : Offload::activations, .links = graph.device->links}};
        const std::int64_t budget = (least_peak(flat).bytes.value + keep_all_peak(flat).value) / 2;
        const CopyGraph copy = copy_graph(problem, Bytes(budget));
        const auto written = [&](const CopyState& state, int moves) {
            RunProfile profile(copy.flat, budget, state.runs);
            PlannedCopies copies(copy, profile, graph.device->links, false);
            send_away(profile, state);
            copies.settle();
            profile.commit();
            Random random(seed);
            AwayMoves proposals(copy, profile, copies, random, nullptr);
            for (int i = 0; i < moves; ++i) {
                proposals.propose({});
                copies.settle();
                profile.commit();
            }
            return emit(copy, profile, copies);
        };
        const EmittedCopies once = written(start_of(problem, copy, required_once(flat)), 60);
        if (!simulate(graph, once.steps, once.homes)) continue;
        const EmittedCopies again = written(start_of(problem, copy, once.steps), 0);
        const auto fetches = [](const EmittedCopies& of) {
            std::vector<std::int32_t> tensors;
            for (const Step& step : of.steps)
                if (step.kind == StepKind::fetch) tensors.push_back(step.id);
            std::sort(tensors.begin(), tensors.end());
            return tensors;
        };
        // The second time, updates are made as early as possible, and tensors are not fetched if no run reads
        // them.
        const std::vector<std::int32_t> before = fetches(once), now = fetches(again);
        EXPECT_TRUE(std::includes(before.begin(), before.end(), now.begin(), now.end())) << "seed " << seed;
        in_vain += before != now || once.homes.on_host != again.homes.on_host;
        fetched += static_cast<int>(now.size());
        at_home_there += !now.empty() && !again.homes.on_host.empty();
    }
    EXPECT_GT(fetched, 60);
    EXPECT_GT(at_home_there, 20);
    EXPECT_LT(in_vain, 10);
}

}  // namespace
}  // namespace rematlas::annealing
