// Tests properties of every answer of atlas with copies to the host.
#include "core/solvers/atlas/copy_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/bounds/least_footprint.h"
#include "core/checking/check.h"
#include "core/planning/solve.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "core/solvers/atlas/atlas.h"
#include "tests/core/support/brute_force_with_host.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_copies.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

using std::chrono::hours;

constexpr AnnealingOptions kBrief{.max_moves = 6000, .first_cycle = 1000};

Copies activations_over(const Graph& graph) {
    return {.what = Offload::activations, .links = graph.device->links};
}

/// Returns the schedule of a checked answer, or nullopt if no schedule was found.
std::optional<Schedule> solve_checked(const Graph& graph, Bytes budget, const Copies& copies,
                                      const AnnealingOptions& options = kBrief) {
    const FlatGraph flat = flatten(graph);
    const Result<Outcome> outcome =
        solve(Problem{graph, flat, copies}, *make_atlas(options), budget, {.time = hours(1)});
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome || !outcome->schedule()) return std::nullopt;
    return *outcome->schedule();
}

Graph linked(Graph graph, Links links) {
    graph.device = Device{.name = "d", .memory = {}, .links = links};
    return graph;
}

Bytes between(const FlatGraph& flat, double share) {
    const std::int64_t least = least_peak(flat).bytes.value, most = keep_all_peak(flat).value;
    return Bytes(least + static_cast<std::int64_t>(share * static_cast<double>(most - least)));
}

/// Returns the graph with residents of 0 bytes, so that offloading them cannot improve the exhaustive search.
Graph without_resident_bytes(Graph graph) {
    const auto producer = producers(graph);
    for (TensorId t : graph.tensors.ids())
        if (!producer[t].valid()) graph.tensors[t].bytes = Bytes(0);
    return graph;
}

TEST(AtlasWithCopies, FindsTheBestScheduleOfTinyGraphs) {
    constexpr double kSpeeds[] = {2e8, 5e8, 1e9, 3e9};
    int cases = 0, optimal = 0, copied = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Links links{.to_host_bytes_per_second = kSpeeds[seed % 4],
                          .to_device_bytes_per_second = kSpeeds[seed / 4 % 4]};
        const Graph graph =
            linked(without_resident_bytes(random_chain(seed, 2 + static_cast<int>(seed % 2), true)), links);
        const FlatGraph flat = flatten(graph);
        const Bytes budget = between(flat, 0.3);
        const auto optimum =
            brute_force_with_host(graph, budget.value, {.at_any_time = true, .states = 60'000});
        const std::optional<Schedule> found = solve_checked(graph, budget, activations_over(graph));
        if (!optimum) continue;
        ASSERT_TRUE(found) << graph.name;
        EXPECT_GE(found->time.value, *optimum) << graph.name;
        ++cases;
        optimal += found->time.value == *optimum;
        copied += class_of(found->steps) == ScheduleClass::with_copies;
    }
    RecordProperty("cases", cases);
    EXPECT_GT(cases, 30);
    EXPECT_GT(copied, 5);
    EXPECT_GE(optimal, cases * 9 / 10) << "of " << cases;
}

TEST(AtlasWithCopies, AnswersPassTheCheckerOverLinksOfEveryKind) {
    int copied = 0, found = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Graph graph = seed % 3 == 0 ? random_odd_graph(seed, 6 + static_cast<int>(seed % 20))
                      : seed % 3 == 1
                          ? random_training_graph(seed, {.forward_ops = 3 + static_cast<int>(seed % 8)})
                          : random_chain(seed, 4 + static_cast<int>(seed % 8));
        graph.device = random_graph_with_links(seed).device;
        const FlatGraph flat = flatten(graph);
        const Bytes budget = between(flat, 0.1 * static_cast<double>(seed % 7));
        Copies copies = activations_over(graph);
        if (seed % 5 == 0) copies.host_budget = Bytes(10);
        const auto schedule = solve_checked(graph, budget, copies, {.max_moves = 3000, .first_cycle = 500});
        if (!schedule) continue;
        ++found;
        copied += class_of(schedule->steps) == ScheduleClass::with_copies;
        EXPECT_TRUE(check(graph, *schedule, budget).ok());
    }
    EXPECT_GT(found, 30);
    EXPECT_GT(copied, 10);
}

TEST(AtlasWithCopies, ResidentsThatLiveOnTheHostPassTheChecker) {
    int found = 0, at_home_there = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Graph graph = random_graph_with_links(seed);
        const bool in_training = seed % 4 == 0;
        if (in_training)
            for (Op& op : graph.ops) op.host_time.reset();
        const FlatGraph flat = flatten(graph);
        const Bytes budget = between(flat, seed % 2 == 0 ? -0.2 : 0.3);
        const Copies copies{.what = seed % 3 == 0 ? Offload::weights : Offload::all,
                            .in_training = in_training,
                            .links = graph.device->links};
        const auto schedule = solve_checked(graph, budget, copies, {.max_moves = 3000, .first_cycle = 500});
        if (!schedule) continue;
        ++found;
        at_home_there += !schedule->homes.on_host.empty();
    }
    EXPECT_GT(found, 15);
    EXPECT_GT(at_home_there, 10);
}

Graph small_gpt_with_adamw() {
    GptShape shape = gpt2_xl_with_adamw();
    shape.layers = 3;
    shape.width = 256;
    shape.heads = 4;
    shape.vocabulary = 2000;
    shape.batch = 1;
    return linked(gpt_graph(shape), {.to_host_bytes_per_second = 55e9, .to_device_bytes_per_second = 55e9});
}

TEST(AtlasWithCopies, StreamsOptimizerStatesThroughLessThanTheyTake) {
    const Graph graph = small_gpt_with_adamw();
    const FlatGraph flat = flatten(graph);
    const Bytes budget(flat.resident_bytes);
    EXPECT_FALSE(solve_checked(graph, budget, activations_over(graph)));
    const auto with = solve_checked(graph, budget, {.what = Offload::all, .links = graph.device->links},
                                    {.max_moves = 60'000, .first_cycle = 5000});
    ASSERT_TRUE(with);
    EXPECT_LT(with->peak, budget + Bytes(1));
    EXPECT_GT(with->homes.on_host.size(), 10u);
    EXPECT_LT(with->overhead, 3);
    RecordProperty("overhead", std::to_string(with->overhead));
}

/// The answer with copies must not be worse, even if the search has only one move, and even if the answer
/// without copies is hard to find.
TEST(AtlasWithCopies, IsNeverWorseThanWithout) {
    int compared = 0, better = 0;
    for (std::uint64_t seed = 1; seed <= 16; ++seed) {
        Graph graph = random_training_graph(seed, {.forward_ops = 4 + static_cast<int>(seed % 15)});
        if (seed % 2 == 0) graph = random_graph_with_links(seed);
        graph.device = random_graph_with_links(seed).device;
        const FlatGraph flat = flatten(graph);
        for (const std::uint64_t moves : {1u, 500u}) {
            const AnnealingOptions tiny{.max_moves = moves, .first_cycle = 100};
            const Bytes budget = between(flat, 0.2 + 0.1 * static_cast<double>(seed % 6));
            const auto without = solve_checked(graph, budget, {}, tiny);
            if (!without) continue;
            for (const Offload what : {Offload::activations, Offload::weights, Offload::all}) {
                const auto with =
                    solve_checked(graph, budget, {.what = what, .links = graph.device->links}, tiny);
                ASSERT_TRUE(with) << graph.name << " with " << to_string(what);
                EXPECT_LE(with->time, without->time) << graph.name << " with " << to_string(what);
                ++compared;
                better += with->time < without->time;
            }
        }
    }
    EXPECT_GT(compared, 50);
    EXPECT_GT(better, 5);
}

TEST(AtlasWithCopies, SmallTensorsLeaveWhereThereAreNoLargeOnes) {
    const Graph graph = linked(
        random_training_graph(4, {.forward_ops = 12}),
        {.to_host_bytes_per_second = 1e12, .to_device_bytes_per_second = 1e12, .least_copy = Bytes(1 << 20)});
    const Bytes budget = between(flatten(graph), 0.3);
    const auto with = solve_checked(graph, budget, activations_over(graph));
    const auto without = solve_checked(graph, budget, {});
    ASSERT_TRUE(with && without);
    EXPECT_LT(with->time, without->time);
}

/// Returns the graph as captures make it: each op that reads a parameter makes a result of 0 bytes, which the
/// parameter's update reads.
Graph with_marks(Graph graph) {
    for (const OpId update : graph.ops.ids()) {
        if (graph.ops[update].phase != Phase::optimizer) continue;
        for (const OpId reader : graph.ops.ids()) {
            if (graph.ops[reader].phase == Phase::optimizer) continue;
            const auto& reads = graph.ops[reader].inputs;
            const bool reads_updated = std::any_of(reads.begin(), reads.end(), [&](TensorId t) {
                const auto& updated = graph.ops[update].mutates;
                return std::find(updated.begin(), updated.end(), t) != updated.end();
            });
            if (!reads_updated) continue;
            const TensorId mark =
                graph.tensors.push_back({.name = "read", .bytes = Bytes(0), .kind = TensorKind::gradient});
            graph.ops[reader].outputs.push_back(mark);
            graph.ops[update].inputs.push_back(mark);
        }
    }
    return graph;
}

TEST(AtlasWithCopies, UpdatesRunOnTheHostWhereThatTakesLess) {
    Graph graph = with_marks(small_gpt_with_adamw());
    const Copies copies{.what = Offload::all, .links = graph.device->links};
    const AnnealingOptions brief{.max_moves = 60'000, .first_cycle = 5000};
    const Bytes budget(flatten(graph).resident_bytes);
    const auto on_device = solve_checked(graph, budget, copies, brief);
    const auto host_runs = [](const Schedule& schedule) {
        return std::count_if(schedule.steps.begin(), schedule.steps.end(),
                             [](const Step& step) { return step.kind == StepKind::run_host; });
    };
    for (const bool fast : {true, false}) {
        for (Op& op : graph.ops)
            if (op.phase == Phase::optimizer) op.host_time = Nanoseconds(fast ? 100 : 1'000'000'000);
        const auto anywhere = solve_checked(graph, budget, copies, brief);
        ASSERT_TRUE(on_device && anywhere);
        ASSERT_TRUE(anywhere->bound);
        EXPECT_EQ(anywhere->bound->over, ScheduleClass::with_host_ops);
        EXPECT_EQ(host_runs(*anywhere) > 0, fast);
        if (fast) {
            EXPECT_LT(anywhere->time, on_device->time);
        }
    }
}

TEST(AtlasWithCopies, FastLinksTakeTheRecomputationAway) {
    const Graph graph = linked(gpt_graph({.layers = 2}),
                               {.to_host_bytes_per_second = 1e12, .to_device_bytes_per_second = 1e12});
    const Bytes budget = between(flatten(graph), 0.5);
    const auto with = solve_checked(graph, budget, activations_over(graph));
    const auto without = solve_checked(graph, budget, {});
    ASSERT_TRUE(with && without);
    EXPECT_GT(without->overhead, 1.02);
    EXPECT_LT(with->overhead, 1.002);
}

TEST(AtlasWithCopies, SweepsNeverRiseWithTheBudget) {
    Graph graph = random_training_graph(4, {.forward_ops = 12});
    graph.device = random_graph_with_links(4).device;
    const FlatGraph flat = flatten(graph);
    std::vector<Bytes> budgets;
    for (const double share : {0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0}) budgets.push_back(between(flat, share));
    const Result<Sweep> sweep = run_sweep(graph, {.solvers = {"atlas"},
                                                  .budgets = budgets,
                                                  .limits = {.time = std::chrono::seconds(3)},
                                                  .copies = {{.what = Offload::activations}}});
    ASSERT_TRUE(sweep) << sweep.error().message;
    EXPECT_EQ(sweep->curves.front().copies.what, Offload::activations);
    double before = std::numeric_limits<double>::infinity();
    for (const SweepPoint& point : sweep->curves.front().points) {
        if (point.status == "infeasible") continue;
        EXPECT_LE(point.overhead, before);
        before = point.overhead;
        EXPECT_LE(point.peak, point.budget);
        const Result<Simulation> played = simulate(graph, point.steps, point.homes);
        ASSERT_TRUE(played) << played.error().message;
        EXPECT_EQ(played->peak, point.peak);
    }
    const auto found = solve_checked(graph, between(flat, 0.35), activations_over(graph));
    ASSERT_TRUE(found);
    EXPECT_EQ(class_of(found->steps), ScheduleClass::with_copies);
    EXPECT_EQ(parse_sweep(sweep_text(*sweep), "s")->curves.front().copies, sweep->curves.front().copies);
}

/// Returns the curve of a solver with these copies. A sweep has at most one such curve.
const SweepCurve* curve_of(const Sweep& sweep, const std::string& solver, Offload what) {
    for (const SweepCurve& curve : sweep.curves)
        if (curve.solver == solver && curve.copies.what == what) return &curve;
    return nullptr;
}

TEST(AtlasWithCopies, AreNowhereAboveTheCurveWithoutThemInOneSweep) {
    for (const std::uint64_t seed : {4, 5, 6}) {
        Graph graph = random_training_graph(seed, {.forward_ops = 12});
        graph.device = random_graph_with_links(seed).device;
        const FlatGraph flat = flatten(graph);
        const Copies activations{.what = Offload::activations}, all{.what = Offload::all};
        // The time is so short that the search with copies can miss a schedule that the search without copies
        // has found.
        const Result<Sweep> sweep = run_sweep(graph, {.solvers = {"atlas", "rotor"},
                                                      .count = 6,
                                                      .limits = {.time = std::chrono::seconds(1)},
                                                      .copies = {Copies{}, activations, all}});
        ASSERT_TRUE(sweep) << sweep.error().message;
        ASSERT_EQ(sweep->curves.size(), 4u) << "rotor plans no copies";
        EXPECT_TRUE(curve_of(*sweep, "rotor", Offload::none));
        const SweepCurve& none = *curve_of(*sweep, "atlas", Offload::none);
        EXPECT_EQ(none.points.back().budget, keep_all_peak(flat))
            << "the axis ends where it does without copies";
        for (const Offload what : {Offload::activations, Offload::all}) {
            const SweepCurve& with = *curve_of(*sweep, "atlas", what);
            EXPECT_EQ(with.copies.links, graph.device->links);
            ASSERT_EQ(with.points.size(), none.points.size());
            for (std::size_t i = 0; i < none.points.size(); ++i) {
                EXPECT_EQ(with.points[i].budget, none.points[i].budget);
                if (none.points[i].status == "infeasible") continue;
                ASSERT_NE(with.points[i].status, "infeasible");
                EXPECT_LE(with.points[i].overhead, none.points[i].overhead);
                if (with.points[i].bound) {
                    EXPECT_LE(with.points[i].bound->overhead, with.points[i].overhead);
                }
            }
        }
    }
}

TEST(AtlasWithCopies, SweepsGoBelowWhatIsNeededWhereWeightsStay) {
    const Graph graph = linked(gpt_graph({.layers = 3}),
                               {.to_host_bytes_per_second = 1e11, .to_device_bytes_per_second = 1e11});
    const FlatGraph flat = flatten(graph);
    const Bytes stays = least_needed({graph, flat});
    std::optional<Bytes> smallest;
    const Result<Sweep> sweep = run_sweep(graph,
                                          {.solvers = {"atlas"},
                                           .count = 6,
                                           .limits = {.time = std::chrono::seconds(3)},
                                           .copies = {Copies{}, {.what = Offload::all}}},
                                          [&](const SweepCurve&, const SweepPoint& point) {
                                              smallest =
                                                  std::min(smallest.value_or(point.budget), point.budget);
                                          });
    ASSERT_TRUE(sweep) << sweep.error().message;
    ASSERT_TRUE(smallest);
    EXPECT_LT(*smallest, stays) << "is asked for";
    EXPECT_TRUE(solve_checked(graph, Bytes(stays.value * 95 / 100),
                              {.what = Offload::all, .links = graph.device->links},
                              {.max_moves = 20'000, .first_cycle = 2000}))
        << "is there";
    for (const SweepPoint& point : curve_of(*sweep, "atlas", Offload::none)->points)
        EXPECT_TRUE(point.status == "infeasible" || point.peak >= stays);
}

TEST(AtlasWithCopies, EqualSeedsGiveEqualAnswers) {
    Graph graph = random_training_graph(8, {.forward_ops = 14});
    graph.device = random_graph_with_links(3).device;
    const Bytes budget = between(flatten(graph), 0.2);
    const auto once = solve_checked(graph, budget, activations_over(graph));
    const auto again = solve_checked(graph, budget, activations_over(graph));
    ASSERT_TRUE(once && again);
    EXPECT_EQ(once->steps, again->steps);
}

TEST(AtlasWithCopies, EndsWhereACopyTakesLongerThanAnyStep) {
    for (const double speed : {1.0, 1e3, 1e6}) {
        const Graph graph = linked(random_chain(3, 12),
                                   {.to_host_bytes_per_second = speed, .to_device_bytes_per_second = speed});
        const FlatGraph flat = flatten(graph);
        const auto without = solve_checked(graph, between(flat, 0.5), {});
        const auto with = solve_checked(graph, between(flat, 0.5), activations_over(graph));
        ASSERT_TRUE(without && with) << speed;
        EXPECT_EQ(with->time, without->time) << speed;
        const auto below = solve_checked(graph, between(flat, 0), activations_over(graph));
        EXPECT_TRUE(!below || below->overhead > without->overhead) << speed;
    }
}

TEST(AtlasWithCopies, SaysHowFarItCameWhereItFindsNothing) {
    int none = 0, on_the_way = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Graph graph = random_graph_with_links(seed);
        const FlatGraph flat = flatten(graph);
        const Bytes budget = least_footprint(graph, flat).bytes;
        Copies copies{.what = Offload::all, .links = graph.device->links};
        const auto answer = [&](std::uint64_t moves) {
            return solve(Problem{graph, flat, copies}, *make_atlas({.max_moves = moves, .first_cycle = 100}),
                         budget, {.time = hours(1)});
        };
        const Result<Outcome> some = answer(200);
        ASSERT_TRUE(some);
        if (const Infeasible* infeasible = some->infeasible()) {
            ++none;
            EXPECT_EQ(infeasible->reason, "");
            EXPECT_GT(infeasible->smallest_found.value_or(budget + Bytes(1)), budget);
            on_the_way += infeasible->smallest_found && *infeasible->smallest_found < least_peak(flat).bytes;
        }
        copies.host_budget = Bytes(1);
        const Result<Outcome> little = answer(200);
        ASSERT_TRUE(little);
        if (little->infeasible()) {
            EXPECT_EQ(little->infeasible()->reason, "with at most 1 B on the host");
        }
    }
    EXPECT_GT(none, 5);
    EXPECT_GT(on_the_way, 2);
}

TEST(AtlasWithCopies, ProvesNothingOfAResultThatMayBeOverwrittenAndComeBack) {
    Graph graph;
    graph.name = "overwritten";
    const auto tensor = [&](const char* name, std::int64_t bytes, TensorKind kind) {
        return graph.tensors.push_back({.name = name, .bytes = Bytes(bytes), .kind = kind});
    };
    const TensorId x = tensor("x", 8, TensorKind::input), a = tensor("a", 1000, TensorKind::activation),
                   b = tensor("b", 1000, TensorKind::activation), c = tensor("c", 4, TensorKind::activation),
                   d = tensor("d", 4, TensorKind::activation);
    const OpId first = graph.ops.push_back(
        {.name = "first", .time = Nanoseconds(1000), .inputs = {x}, .outputs = {a}, .recomputable = false});
    const OpId other = graph.ops.push_back(  // runs while the copy is made
        {.name = "other", .time = Nanoseconds(1000), .inputs = {x}, .outputs = {d}});
    const OpId over = graph.ops.push_back(
        {.name = "over", .time = Nanoseconds(1000), .inputs = {a}, .outputs = {b}, .inplace = {{b, a}}});
    const OpId last =
        graph.ops.push_back({.name = "last", .time = Nanoseconds(1000), .inputs = {b}, .outputs = {c}});
    graph.results = {a, c, d};
    graph = linked(std::move(graph), {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9});

    const std::vector<Step> steps{Step::run(first),        Step::offload(a), Step::run(other),
                                  Step::run_inplace(over), Step::run(last),  Step::free(b),
                                  Step::fetch(a)};
    const Result<Simulation> played = simulate(graph, steps);
    ASSERT_TRUE(played) << played.error().message;
    EXPECT_EQ(played->peak, Bytes(1016));

    const FlatGraph flat = flatten(graph);
    for (const Offload what : {Offload::activations, Offload::all}) {
        const Problem problem{graph, flat, {.what = what, .links = graph.device->links}};
        const Result<Outcome> outcome = solve(problem, *make_atlas(kBrief), played->peak, {.time = hours(1)});
        ASSERT_TRUE(outcome) << outcome.error().message;
        if (const Infeasible* none = outcome->infeasible()) {
            EXPECT_FALSE(none->proven);
            EXPECT_LE(none->needed, played->peak);
        }
    }
}

TEST(AtlasWithCopies, AnswersTooSmallBudgetsWithWhatEveryScheduleNeeds) {
    const Graph graph =
        linked(random_chain(3, 6), {.to_host_bytes_per_second = 1e9, .to_device_bytes_per_second = 1e9});
    const FlatGraph flat = flatten(graph);
    const Bytes least = least_peak(flat).bytes;
    const Result<Outcome> outcome = solve(Problem{graph, flat, activations_over(graph)}, *make_atlas(kBrief),
                                          least - Bytes(1), {.time = hours(1)});
    ASSERT_TRUE(outcome && outcome->infeasible());
    EXPECT_TRUE(outcome->infeasible()->proven);
    EXPECT_EQ(outcome->infeasible()->needed, least);
    EXPECT_EQ(outcome->infeasible()->over, ScheduleClass::with_activation_copies);
}

}  // namespace
}  // namespace rematlas
