#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/addresses/address_plan.h"
#include "core/addresses/packing.h"
#include "core/checking/check.h"
#include "core/checking/check_addresses.h"
#include "core/graph/graph_file.h"
#include "core/planning/curve_budgets.h"
#include "core/planning/solve_in_arena.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/schedule_file.h"
#include "core/schedule/simulate.h"
#include "core/solvers/atlas/atlas.h"
#include "tests/core/support/long_chain.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

/// Returns steps that run the ops in the graph's order, with random reruns of ops that have already run.
std::vector<Step> steps_with_reruns(const Graph& graph, std::uint64_t seed) {
    const FlatGraph flat = flatten(graph);
    std::uint64_t state = seed * 2 + 1;
    const auto next = [&state](std::uint64_t n) {
        return state = state * 6364136223846793005ull + 1442695040888963407ull, (state >> 33) % n;
    };
    RunSequence runs;
    for (int op = 0; op < flat.op_count; ++op) {
        runs.push_back(op);
        while (next(3) == 0) {
            const int again = static_cast<int>(next(static_cast<std::uint64_t>(op) + 1));
            if (flat.recomputable[again]) runs.push_back(again);
        }
    }
    return lower(flat, runs);
}

const Placement* find(const AddressPlan& plan, TensorId t, std::int32_t first) {
    const auto found = std::find_if(plan.placements.begin(), plan.placements.end(), [&](const Placement& p) {
        return p.kind == Placement::Kind::tensor && p.id == t.value && p.first == first;
    });
    return found == plan.placements.end() ? nullptr : &*found;
}

TEST(Addresses, nothing_alive_at_the_same_time_overlaps_on_random_graphs_with_reruns) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const Graph graph = seed % 2 ? random_training_graph(seed) : random_odd_graph(seed, 12);
        const std::vector<Step> steps = steps_with_reruns(graph, seed);
        for (const std::int64_t alignment : {1, 64}) {
            const AddressOptions options{.alignment = alignment, .residents = seed % 3 > 0, .effort = 20'000};
            const Result<AddressPlan> plan = plan_addresses(graph, steps, options);
            ASSERT_TRUE(plan) << plan.error().message;
            const Result<void> sound =
                check_addresses(graph, steps, addresses_from(*plan, alignment), options.residents);
            EXPECT_TRUE(sound) << seed << ": " << sound.error().message;
            EXPECT_GE(plan->arena, plan->aligned_live_peak) << seed;
            EXPECT_GE(plan->aligned_live_peak, plan->live_peak) << seed;
            EXPECT_EQ(plan->arena.value % alignment, 0);
            if (options.residents) {
                EXPECT_EQ(plan->live_peak, simulate(graph, steps)->peak) << seed;
            }
        }
    }
}

TEST(Addresses, equal_arguments_give_equal_plans) {
    const Graph graph = random_training_graph(7, {.forward_ops = 30});
    const std::vector<Step> steps = steps_with_reruns(graph, 7);
    const Result<AddressPlan> once = plan_addresses(graph, steps), again = plan_addresses(graph, steps);
    EXPECT_EQ(once->placements, again->placements);
    EXPECT_EQ(once->arena, again->arena);
}

TEST(Addresses, a_run_in_place_keeps_the_address_whatever_the_sizes) {
    for (const std::int64_t out_bytes : {100, 40, 700}) {
        Graph graph = small_graph();
        graph.ops[OpId(1)].inplace = {{TensorId(2), TensorId(1)}};
        graph.tensors[TensorId(2)].bytes = Bytes(out_bytes);
        const std::vector<Step> steps = lower(flatten(graph), RunSequence{0, 1, 2, 0, 3, 4});
        ASSERT_EQ(steps[1], Step::run_inplace(OpId(1)));
        const Result<AddressPlan> plan = plan_addresses(graph, steps, {.alignment = 4});
        const Placement *in = find(*plan, TensorId(1), 0), *out = find(*plan, TensorId(2), 1);
        ASSERT_TRUE(in && out);
        EXPECT_EQ(in->offset, out->offset);
        EXPECT_EQ(in->end, 1);
        EXPECT_TRUE(check_addresses(graph, steps, addresses_from(*plan, 4)));
    }
}

TEST(Addresses, a_tensor_made_again_before_it_is_gone_has_two_places_at_once) {
    const Graph graph = small_graph();
    const std::vector<Step> steps{Step::run(OpId(0)), Step::run(OpId(0))};
    const Result<AddressPlan> plan = plan_addresses(graph, steps);
    const Placement *first = find(*plan, TensorId(1), 0), *second = find(*plan, TensorId(1), 1);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->end, 2);
    EXPECT_NE(first->offset, second->offset);
    EXPECT_EQ(plan->live_peak, Bytes(210));
    EXPECT_EQ(plan->aligned_live_peak, Bytes(64 + 128 + 128));
    EXPECT_EQ(plan->arena, plan->aligned_live_peak);
}

TEST(Addresses, residents_stay_unless_they_are_offloaded_or_left_out) {
    Graph graph = small_graph();
    graph.device = Device{"d", Bytes(0), 1e9, 1e9};
    const std::vector<Step> steps{Step::offload(TensorId(0)), Step::free(TensorId(0)),
                                  Step::fetch(TensorId(0)), Step::run(OpId(0))};
    const Result<AddressPlan> with = plan_addresses(graph, steps);
    EXPECT_EQ(find(*with, TensorId(0), -1)->end, 1);
    EXPECT_EQ(find(*with, TensorId(0), 2)->end, 4);
    EXPECT_TRUE(check_addresses(graph, steps, addresses_from(*with, 64)));
    const Result<AddressPlan> without = plan_addresses(graph, steps, {.residents = false});
    EXPECT_EQ(find(*without, TensorId(0), -1), nullptr);
    EXPECT_NE(find(*without, TensorId(0), 2), nullptr) << "the copy on the device is the plan's";
    EXPECT_TRUE(check_addresses(graph, steps, addresses_from(*without, 64), false));
}

TEST(Addresses, what_is_wrong_with_them_is_named) {
    const Graph graph = small_graph();
    const std::vector<Step> steps = lower(flatten(graph), keep_all_sequence(flatten(graph)));
    const Addresses good = addresses_from(*plan_addresses(graph, steps), 64);
    ASSERT_TRUE(check_addresses(graph, steps, good));
    const auto complaint = [&](auto damage) {
        Addresses addresses = good;
        damage(addresses);
        const Result<void> checked = check_addresses(graph, steps, addresses);
        return checked ? std::string("none") : checked.error().message;
    };
    const auto says = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    EXPECT_PRED2(says, complaint([](auto& a) { a.offsets[2] = a.offsets[1]; }), "overlaps");
    EXPECT_PRED2(says, complaint([](auto& a) { a.offsets[1] += Bytes(1); }), "aligned");
    EXPECT_PRED2(says, complaint([](auto& a) { a.offsets[1] = Bytes(-64); }), "aligned");
    EXPECT_PRED2(says, complaint([](auto& a) { a.alignment = 0; }), "alignment");
    EXPECT_PRED2(says, complaint([](auto& a) { a.arena = Bytes(64); }), "arena");
    EXPECT_PRED2(says, complaint([](auto& a) { a.offsets[1] = Bytes(std::int64_t{1} << 40); }), "arena");
    EXPECT_PRED2(says, complaint([](auto& a) { a.offsets.pop_back(); }), "no place");
    EXPECT_PRED2(says, complaint([](auto& a) { a.offsets.push_back(Bytes(0)); }), "lifetimes");
}

TEST(Addresses, a_schedule_with_damaged_ones_does_not_pass_the_check) {
    const Graph graph = random_training_graph(3, {.forward_ops = 20, .unit = 64});
    Schedule schedule;
    schedule.steps = steps_with_reruns(graph, 3);
    const AddressPlan plan = *plan_addresses(graph, schedule.steps);
    const Addresses kept = addresses_from(plan, 64);
    const auto passes = [&](const Addresses& addresses) {
        schedule.addresses = addresses;
        return check(graph, schedule).ok();
    };
    EXPECT_TRUE(passes(kept));
    Addresses damaged = kept;
    damaged.arena = plan.aligned_live_peak - Bytes(1);
    EXPECT_FALSE(passes(damaged));
    damaged = kept;
    damaged.offsets.pop_back();
    EXPECT_FALSE(passes(damaged));
    damaged = kept;
    for (Bytes& offset : damaged.offsets) offset = Bytes(0);
    EXPECT_FALSE(passes(damaged));
}

/// Cuts a rectangle, whose sides are moments and addresses, into `pieces` blocks. So a packing of the blocks
/// without holes exists.
MemoryBlocks cut_rectangle(std::int64_t height, std::int32_t moments, std::size_t pieces,
                           std::uint64_t seed) {
    const auto next = [&seed](std::int64_t n) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<std::int64_t>((seed >> 33) % static_cast<std::uint64_t>(n));
    };
    std::vector<BlockSegment> parts{{0, moments - 1, height}};
    while (parts.size() < pieces) {
        BlockSegment& part = parts[static_cast<std::size_t>(next(static_cast<std::int64_t>(parts.size())))];
        BlockSegment rest = part;
        if (next(2) == 0 && part.width > 1) {
            part.width = 1 + next(part.width - 1);
            rest.width -= part.width;
        } else if (part.last > part.first) {
            part.last = part.first + static_cast<std::int32_t>(next(part.last - part.first));
            rest.first = part.last + 1;
        } else {
            continue;
        }
        parts.push_back(rest);
    }
    MemoryBlocks blocks;
    for (const BlockSegment& part : parts) {
        blocks.segments.push_back(part);
        blocks.begin.push_back(static_cast<std::int32_t>(blocks.segments.size()));
    }
    return blocks;
}

TEST(Addresses, blocks_that_can_be_packed_without_a_hole_need_little_more) {
    double together = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        MemoryBlocks blocks = cut_rectangle(1000, 400, 150, seed);
        for (BlockSegment& s : blocks.segments) s.width *= 48;
        ASSERT_EQ(live_peak(blocks), 48'000);
        const Packing packing = pack(blocks, 30'000'000);
        ASSERT_GE(packing.top, 48'000);
        for (std::size_t a = 0; a < blocks.size(); ++a) {
            const BlockSegment& s = blocks.segments[a];
            EXPECT_GE(packing.offsets[a], 0);
            EXPECT_EQ(packing.offsets[a] % grain(blocks), 0);
            EXPECT_LE(packing.offsets[a] + s.width, packing.top);
            for (std::size_t b = 0; b < a; ++b) {
                const BlockSegment& o = blocks.segments[b];
                EXPECT_TRUE(s.last < o.first || o.last < s.first ||
                            packing.offsets[a] + s.width <= packing.offsets[b] ||
                            packing.offsets[b] + o.width <= packing.offsets[a]);
            }
        }
        together += static_cast<double>(packing.top) / 48'000;
    }
    EXPECT_LE(together / 10, 1.02);
}

TEST(Addresses, more_effort_never_needs_more_than_the_plain_orders) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const MemoryBlocks blocks = cut_rectangle(500, 100, 60, seed);
        EXPECT_LE(pack(blocks, 3'000'000).top, pack(blocks, 0).top) << seed;
    }
}

TEST(Addresses, a_budget_on_the_arena_bounds_it_and_the_checker_sees_when_it_does_not) {
    int tight = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const Graph graph = random_training_graph(seed, {.forward_ops = 25, .unit = 64});
        const FlatGraph flat = flatten(graph);
        const auto solver = make_atlas({.max_moves = 2'000, .first_cycle = 500});
        const Bytes budget(keep_all_peak(flat).value * 8 / 10);
        const Limits limits{.time = std::chrono::hours(1)};
        const Result<Outcome> outcome = solve_in_arena({graph, flat}, *solver, budget, limits);
        ASSERT_TRUE(outcome) << outcome.error().message;
        if (!outcome->schedule()) continue;
        ++tight;
        Schedule schedule = *outcome->schedule();
        ASSERT_TRUE(schedule.addresses);
        EXPECT_LE(schedule.addresses->arena, budget);
        EXPECT_EQ(schedule.budget, budget);
        EXPECT_TRUE(check(graph, schedule).ok()) << check(graph, schedule).violations.front();
        EXPECT_FALSE(check(graph, schedule, schedule.addresses->arena - Bytes(1)).ok());
        const Result<Schedule> read = parse_schedule(schedule_text(schedule), "s");
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->addresses, schedule.addresses);
        schedule.addresses->offsets.back() += Bytes(std::int64_t{1} << 40);
        EXPECT_FALSE(check(graph, schedule).ok());
    }
    EXPECT_GT(tight, 2);
}

TEST(Addresses, a_sweep_over_arenas_keeps_every_budget) {
    const Graph graph = long_chain(ChainKind::uneven, 20, 3);
    const std::int64_t most = keep_all_peak(flatten(graph)).value;
    const Result<Sweep> sweep =
        run_sweep(graph, {.solvers = {"rotor"},
                          .budgets = even_budgets(Bytes(most * 7 / 10), Bytes(most), 4),
                          .arena = true,
                          .limits = {.time = std::chrono::hours(1)}});
    ASSERT_TRUE(sweep);
    const Result<Sweep> read = parse_sweep(sweep_text(*sweep), "sweep");
    ASSERT_TRUE(read);
    int found = 0;
    for (const SweepPoint& point : read->curves.front().points) {
        if (point.status == "infeasible") continue;
        ++found;
        ASSERT_TRUE(point.arena);
        EXPECT_LE(*point.arena, point.budget);
        EXPECT_GE(*point.arena, point.peak);
    }
    EXPECT_GT(found, 1);
}

TEST(Addresses, steps_that_are_not_possible_odd_alignments_and_absurd_sizes_are_refused) {
    EXPECT_FALSE(plan_addresses(small_graph(), {Step::run(OpId(1))}));
    EXPECT_FALSE(plan_addresses(small_graph(), {}, {.alignment = 0}));
    EXPECT_TRUE(plan_addresses(small_graph(), {}));
    Graph huge = small_graph();
    huge.tensors[TensorId(1)].bytes = Bytes(std::int64_t{1} << 61);
    EXPECT_FALSE(plan_addresses(huge, {Step::run(OpId(0))}));
}

TEST(Addresses, captured_graphs_without_recomputation_need_at_most_1_percent_more_than_their_live_peak) {
    for (const char* name : {"mlp", "unet", "gpt"}) {
        const Result<Graph> graph = read_graph(std::filesystem::path(REMATLAS_SOURCE_DIR) /
                                               "resources/graphs" / (std::string(name) + ".graph.json"));
        ASSERT_TRUE(graph);
        const FlatGraph flat = flatten(*graph);
        const std::vector<Step> steps = lower(flat, keep_all_sequence(flat));
        const AddressOptions options{.residents = false};
        const Result<AddressPlan> plan = plan_addresses(*graph, steps, options);
        ASSERT_TRUE(plan);
        EXPECT_TRUE(check_addresses(*graph, steps, addresses_from(*plan, options.alignment), false));
        EXPECT_LE(plan->arena.value, plan->live_peak.value * 101 / 100) << name;
    }
}

}  // namespace
}  // namespace rematlas
