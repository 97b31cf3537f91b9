// Lower bounds on memory must not be above the least peak that brute force finds.
#include "core/bounds/least_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/bounds/rebuild_cut.h"
#include "core/graph/graph_file.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

const LeastMemoryLimits kNoHurry{.time = std::chrono::hours(1)};

struct Shares {
    int graphs = 0, equal = 0, equal_by_footprints = 0;
};

void compare_least_memory(const Graph& graph, Shares& shares) {
    const FlatGraph flat = flatten(graph);
    const std::int64_t optimum = brute_force_least_peak(flat);
    const std::int64_t bound = least_memory(flat, kNoHurry).bytes.value,
                       footprint = least_peak(flat).bytes.value;
    EXPECT_LE(bound, optimum) << graph.name;
    EXPECT_GE(bound, footprint) << graph.name;
    ++shares.graphs;
    shares.equal += bound == optimum;
    shares.equal_by_footprints += footprint == optimum;
}

TEST(LeastMemory, is_never_above_the_optimum_and_mostly_equal_to_it) {
    Shares shares;
    for (std::uint64_t seed = 1; seed <= 700; ++seed) {
        SCOPED_TRACE(seed);
        compare_least_memory(random_training_graph(seed, {.forward_ops = 2 + static_cast<int>(seed % 2)}),
                             shares);
        compare_least_memory(
            random_training_graph(50'000 + seed,
                                  {.forward_ops = 2, .several_outputs = false, .inplace = false}),
            shares);
        compare_least_memory(random_odd_graph(seed, static_cast<int>(seed % 9)), shares);
    }
    EXPECT_GT(shares.equal, shares.graphs * 95 / 100);
    EXPECT_LT(shares.equal_by_footprints, shares.graphs * 80 / 100) << "the graphs are too easy";
}

TEST(LeastMemory, of_the_small_graph_is_that_of_its_best_schedule) {
    const FlatGraph flat = flatten(small_graph());
    EXPECT_EQ(least_memory(flat).bytes.value, brute_force_least_peak(flat));
}

/// Two results of 7 bytes, each made from a wide tensor of 100 bytes. While the second result is made, the
/// first must be held. Otherwise the first would have to be made again later, while the second is held, and
/// its wide tensor would take the same memory.
TEST(LeastMemory, holds_results_that_ops_before_make) {
    Graph graph;
    graph.name = "results";
    graph.tensors = {Tensor{"wide", Bytes(100)}, Tensor{"first", Bytes(7)}, Tensor{"wide too", Bytes(100)},
                     Tensor{"second", Bytes(7)}};
    const auto op = [&](std::vector<TensorId> inputs, TensorId output) {
        Op made;
        made.time = Nanoseconds(1);
        made.inputs = std::move(inputs);
        made.outputs = {output};
        graph.ops.push_back(made);
    };
    op({}, TensorId(0));
    op({TensorId(0)}, TensorId(1));
    op({}, TensorId(2));
    op({TensorId(2)}, TensorId(3));
    graph.results = {TensorId(1), TensorId(3)};
    const FlatGraph flat = flatten(graph);
    EXPECT_EQ(least_peak(flat).bytes, Bytes(107));
    const PeakBound bound = least_memory(flat);
    EXPECT_EQ(bound.bytes, Bytes(114));
    std::int64_t held = 0;
    for (TensorId t : bound.tensors) held += flat.bytes[t.index()];
    EXPECT_EQ(held, 114) << "the tensors make up the bytes";
    EXPECT_EQ(brute_force_least_peak(flat), 114);
}

TEST(LeastMemory, names_an_op_and_the_tensors_that_make_up_the_bytes) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph flat = flatten(random_training_graph(seed, {.forward_ops = 4, .inplace = false}));
        const PeakBound bound = least_memory(flat, kNoHurry);
        if (bound.bytes == least_peak(flat).bytes) continue;
        ASSERT_TRUE(bound.op.valid());
        std::int64_t held = flat.workspace[bound.op.index()];
        for (TensorId t : bound.tensors) held += flat.bytes[t.index()];
        EXPECT_EQ(held, bound.bytes.value);
        EXPECT_TRUE(std::is_sorted(bound.tensors.begin(), bound.tensors.end(), [&](TensorId a, TensorId b) {
            return flat.bytes[a.index()] > flat.bytes[b.index()];
        }));
    }
}

TEST(LeastMemory, tells_of_a_budget_whether_more_is_needed) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph flat = flatten(random_training_graph(seed, {.forward_ops = 4}));
        const Bytes whole = least_memory(flat, kNoHurry).bytes;
        for (const Bytes budget : {whole - Bytes(1), whole}) {
            LeastMemoryLimits limits = kNoHurry;
            limits.budget = budget;
            EXPECT_EQ(least_memory(flat, limits).bytes, whole);
            limits.only_budget = true;
            const Bytes bound = least_memory(flat, limits).bytes;
            EXPECT_EQ(bound > budget, whole > budget);
            EXPECT_LE(bound, whole);
        }
    }
}

TEST(LeastMemory, is_proven_at_any_time) {
    const FlatGraph flat = flatten(gpt_graph({.layers = 24}));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(least_memory(flat, {.stop = stop.get_token()}).bytes, least_peak(flat).bytes);
    const Bytes whole = least_memory(flat, kNoHurry).bytes;
    EXPECT_LT(whole, Bytes(cost_of(flat, keep_all_sequence(flat)).peak));
    for (const int milliseconds : {1, 10, 100})
        EXPECT_LE(least_memory(flat, {.time = std::chrono::milliseconds(milliseconds)}).bytes, whole);
}

TEST(LeastMemory, answers_that_nothing_fits_tell_of_it) {
    int told = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        const Graph graph = random_training_graph(seed);
        const FlatGraph flat = flatten(graph);
        const PeakBound bound = least_memory(flat, kNoHurry);
        if (bound.bytes == least_peak(flat).bytes) continue;
        for (const char* solver : {"atlas", "keep-all"}) {
            Result<Outcome> outcome = solve(graph, {.solver = solver,
                                                    .budget = bound.bytes - Bytes(1),
                                                    .limits = {.time = std::chrono::seconds(10)}});
            ASSERT_TRUE(outcome && outcome->infeasible());
            EXPECT_TRUE(outcome->infeasible()->proven);
            EXPECT_GE(outcome->infeasible()->needed, bound.bytes);
            EXPECT_LE(outcome->infeasible()->needed.value, brute_force_least_peak(flat));
            ++told;
        }
    }
    EXPECT_GT(told, 10);
}

TEST(LeastMemory, of_the_problems_at_tight_budgets_is_at_least_what_is_known) {
    std::ifstream file(problem_folder() / "tight.json");
    if (!file) GTEST_SKIP() << kNoProblemFiles;
    const nlohmann::json known = nlohmann::json::parse(file);
    int problems = 0;
    for (const auto& [name, entry] : known.items()) {
        if (!entry.is_object()) continue;
        Result<Graph> graph = read_graph(problem_folder() / (name + ".graph.json"));
        ASSERT_TRUE(graph) << name;
        const double mib =
            static_cast<double>(least_memory(flatten(*graph), kNoHurry).bytes.value) / (1 << 20);
        EXPECT_GE(mib, entry.at("proven_needed_mib").get<double>() - 0.05) << name;
        EXPECT_LE(mib, entry.at("smallest_found_mib").get<double>() + 0.05) << name;
        ++problems;
    }
    EXPECT_GT(problems, 0);
}

/// Compares the cut with an enumeration of all sets of held tensors. At first no op may run again. Then the
/// last required op may, then the last two, and so on.
TEST(RebuildCut, equals_enumeration_on_small_graphs) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph flat = flatten(random_training_graph(seed, {.forward_ops = 2, .inplace = false}));
        if (flat.tensor_count > 12) continue;
        RebuildCut cut(flat);
        std::vector<std::uint8_t> allowed(flat.op_count, 0);
        for (int op = flat.op_count; op-- > 0;) {
            if (!flat.required[op]) continue;
            const auto enumerate = [&](int at) {
                std::int64_t least = RebuildCut::kImpossible;
                for (int held = 0; held < 1 << flat.tensor_count; ++held) {
                    std::int64_t bytes = 0;
                    std::vector<std::uint8_t> there(flat.tensor_count, 0);
                    for (int t = 0; t < flat.tensor_count; ++t) {
                        there[t] = held >> t & 1;
                        bytes += there[t] ? flat.bytes[t] : 0;
                    }
                    for (int t = 0; at >= 0 && t < flat.tensor_count; ++t) {
                        const auto in = flat.inputs[at], out = flat.outputs[at];
                        const bool free = std::find(in.begin(), in.end(), t) != in.end() ||
                                          std::find(out.begin(), out.end(), t) != out.end();
                        if (free) bytes -= std::exchange(there[t], 1) ? flat.bytes[t] : 0;
                    }
                    for (int run = 0; run < flat.op_count; ++run) {
                        const auto inputs = flat.inputs[run];
                        const bool runs = allowed[run] && std::all_of(inputs.begin(), inputs.end(),
                                                                      [&](int t) { return there[t]; });
                        for (int t : flat.outputs[run]) there[t] |= runs;
                    }
                    const bool all = std::all_of(flat.results.begin(), flat.results.end(),
                                                 [&](int t) { return there[t]; });
                    if (all) least = std::min(least, bytes);
                }
                return least;
            };
            EXPECT_EQ(cut.value(), enumerate(-1)) << "beside nothing";
            for (int at = 0; at < flat.op_count; ++at) {
                if (!flat.required[at]) continue;
                const std::int64_t value = cut.value_at({.op = at}, {});
                EXPECT_EQ(value, enumerate(at));
                EXPECT_LE(cut.least_at({.op = at}), value);
            }
            cut.allow(std::array{op});
            allowed[op] = 1;
        }
        EXPECT_EQ(cut.value(), 0) << "all can be made again";
    }
}

}  // namespace
}  // namespace rematlas
