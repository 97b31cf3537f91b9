// Compares selective checkpointing with a simple simulation of PyTorch's rules, over all possible choices.
#include "core/solvers/selective/selective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "tests/core/support/answers.h"
#include "tests/core/support/gpt_graph.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

/// Returns a random step with six forward ops in modules. Each backward op names its forward op.
Graph step_of_modules(std::uint64_t seed) {
    Graph graph = random_training_graph(seed, {.forward_ops = 6, .inplace = false});
    const std::vector<std::string> modules = {"a.x", "a.x", "a.y", "b", "b", ""};
    std::vector<std::pair<int, bool>> forward;  // (op, whether it reads a parameter)
    for (const OpId op : graph.ops.ids()) {
        Op& of = graph.ops[op];
        if (of.phase != Phase::forward) continue;
        of.module = modules[forward.size()];
        const bool trained = std::any_of(of.inputs.begin(), of.inputs.end(), [&](TensorId t) {
            return graph.tensors[t].kind == TensorKind::parameter;
        });
        forward.emplace_back(op.value, trained);
    }
    int at = forward.back().first + 2;  // the first op after the loss
    for (auto own = forward.rbegin(); own != forward.rend(); ++own)
        for (int ops = own->second ? 2 : 1; ops > 0; --ops) graph.ops[OpId(at++)].of = OpId(own->first);
    return graph;
}

/// Computes time and peak of a choice directly from the rules. A value is held from its making to its last
/// read. An input of a region is held until the region's backward is finished.
struct PlainStep {
    const Graph& graph;
    const FlatGraph& flat;
    const std::vector<Region>& regions;
    const SaveSet& choice;

    struct Value {
        std::int64_t bytes = 0;
        int made = 0, last = 0;
    };
    std::vector<Value> values = {};
    std::vector<std::int64_t> running = {};  // workspace at each moment
    std::int64_t time = 0;

    int region_of(std::int32_t op) const {
        for (const int region : choice.regions)
            if (std::count(regions[region].ops.begin(), regions[region].ops.end(), op)) return region;
        return -1;
    }

    std::pair<std::int64_t, std::int64_t> cost() {
        std::map<std::int32_t, int> first;               // tensor -> index of its value from the first run
        std::map<std::int32_t, int> again;               // tensor -> index of its value from a rerun
        std::vector<std::pair<std::int32_t, int>> read;  // (forward op of the reading backward op, value)
        int node_began_at = 0;                           // moment at which the current node of autograd began
        const auto run = [&](std::int32_t op, auto& made) {
            const int now = static_cast<int>(running.size());
            for (const std::int32_t t : flat.outputs[op]) {
                made[t] = static_cast<int>(values.size());
                values.push_back({flat.bytes[t], now, now});
            }
            time += flat.time[op];
            running.push_back(flat.workspace[op]);
        };
        for (int op = 0; op < flat.op_count; ++op) {
            for (auto region = choice.regions.rbegin(); region != choice.regions.rend(); ++region) {
                const Region& of = regions[*region];
                if (of.first_backward != op) continue;
                for (int i = 0; i < of.rerun; ++i) {
                    const std::int32_t own = of.ops[i];
                    const int now = static_cast<int>(running.size());
                    for (const std::int32_t t : flat.inputs[own]) {
                        const bool inside = region_of(flat.producer[t]) == *region && again.count(t) > 0;
                        values[inside ? again[t] : first[t]].last = now;
                    }
                    if (!choice.saved[own]) {
                        run(own, again);
                        continue;
                    }
                    for (const std::int32_t t : flat.outputs[own]) values[first[t]].last = now;
                    running.push_back(0);
                }
            }
            const int now = static_cast<int>(running.size());
            const std::int32_t of = forward_of(graph, op);
            const int own = of < 0 ? -1 : region_of(of);
            for (const std::int32_t t : flat.inputs[op]) {
                const int maker = region_of(flat.producer[t]);
                const bool of_rerun = maker >= 0 && maker == own && again.count(t) > 0;
                Value& value = values[of_rerun ? again[t] : first[t]];
                value.last = std::max(value.last, now);
                read.push_back({of, of_rerun ? again[t] : first[t]});
            }
            // A node of autograd holds its inputs until the last op of the node.
            const bool goes_on = op > 0 && of >= 0 && forward_of(graph, op - 1) == of;
            std::erase_if(read, [&](const auto& one) { return one.first != of; });
            for (const auto& [node, value] : read)
                if (goes_on && values[value].made < node_began_at) values[value].last = now;
            if (!goes_on) node_began_at = now;
            run(op, first);
            for (const int region : choice.regions)
                if (op == regions[region].last_backward)
                    for (const std::int32_t t : regions[region].inputs) values[first[t]].last = now;
        }
        for (const std::int32_t t : flat.results) {
            values[first[t]].last = static_cast<int>(running.size());
        }
        return {time, peak()};
    }

    std::int64_t peak() const {
        std::int64_t most = flat.resident_bytes;
        for (int now = 0; now < static_cast<int>(running.size()); ++now) {
            std::int64_t bytes = flat.resident_bytes + running[now];
            for (const Value& value : values)
                if (value.made <= now && now <= value.last) bytes += value.bytes;
            most = std::max(most, bytes);
        }
        return most;
    }
};

/// Calls `take` with each choice of regions and of saved ops.
template <class Take>
void each_choice(const Graph& graph, const FlatGraph& flat, const std::vector<Region>& regions, Take take) {
    const std::vector<std::uint8_t> savable = savable_ops(graph, flat);
    for (std::uint32_t set = 0; set < (1U << regions.size()); ++set) {
        SaveSet choice{.regions = {}, .saved = std::vector<std::uint8_t>(flat.op_count, 0)};
        std::vector<std::int32_t> can;
        bool nested = false;
        for (std::size_t region = 0; region < regions.size(); ++region) {
            if (((set >> region) & 1U) == 0) continue;
            choice.regions.push_back(static_cast<int>(region));
            for (int above = regions[region].parent; above >= 0; above = regions[above].parent)
                nested = nested || ((set >> above) & 1U) != 0;
            for (int i = 0; i < regions[region].rerun; ++i)
                if (savable[regions[region].ops[i]]) can.push_back(regions[region].ops[i]);
        }
        if (nested) continue;
        for (std::uint32_t saved = 0; saved < (1U << can.size()); ++saved) {
            for (std::size_t i = 0; i < can.size(); ++i) choice.saved[can[i]] = (saved >> i) & 1U;
            take(choice);
        }
    }
}

TEST(Selective, PlaysWhatPyTorchDoes) {
    int with_regions = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Graph graph = step_of_modules(seed);
        const FlatGraph flat = flatten(graph);
        const std::vector<Region> regions = checkpoint_regions(graph, flat);
        with_regions += regions.size() > 1;
        each_choice(graph, flat, regions, [&](const SaveSet& choice) {
            const CheckpointedStep step = play(graph, flat, regions, choice);
            const auto [time, peak] = PlainStep{graph, flat, regions, choice}.cost();
            ASSERT_EQ(step.time, time) << graph.name;
            ASSERT_GE(step.peak, flat.resident_bytes);
            const Result<Simulation> played = simulate(graph, step.steps);
            ASSERT_TRUE(played) << graph.name << ": " << played.error().message;
            ASSERT_EQ(played->peak.value, step.peak) << graph.name;
            ASSERT_EQ(played->time.value, step.time) << graph.name;
            ASSERT_EQ(step.peak, peak) << graph.name;
        });
    }
    EXPECT_GT(with_regions, 20);
}

TEST(Selective, IsTheBestOfItsClassWhereChoicesAreFew) {
    int tighter = 0, as_good = 0, asked = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Graph graph = step_of_modules(seed);
        const FlatGraph flat = flatten(graph);
        const std::vector<Region> regions = checkpoint_regions(graph, flat);
        std::map<std::int64_t, std::int64_t> least;  // peak -> time
        each_choice(graph, flat, regions, [&](const SaveSet& choice) {
            const auto [time, peak] = PlainStep{graph, flat, regions, choice}.cost();
            const auto [at, is_new] = least.try_emplace(peak, time);
            at->second = std::min(at->second, time);
        });
        const std::int64_t most = least.rbegin()->first, fewest = least.begin()->first;
        for (std::int64_t budget = fewest - 1; budget <= most; ++budget) {
            std::optional<std::int64_t> best;
            for (const auto& [peak, time] : least)
                if (peak <= budget) best = std::min(best.value_or(time), time);
            const Answer answer = make_selective()->solve({graph, flat}, Bytes(budget), {}, {});
            expect_valid(graph, Bytes(budget), answer, graph.name);
            ASSERT_EQ(time_of(answer), best) << graph.name << " at " << budget;
            tighter += best && *best > flat.base_time;
            SelectiveOptions by_prices;
            by_prices.of.most_tried = 0;
            const Answer quick = make_selective(by_prices)->solve({graph, flat}, Bytes(budget), {}, {});
            expect_valid(graph, Bytes(budget), quick, graph.name);
            ++asked;
            as_good += time_of(quick) == best;
            if (time_of(quick)) {
                ASSERT_GE(*time_of(quick), *best);
            }
        }
    }
    EXPECT_GT(tighter, 50);
    EXPECT_GT(as_good * 10, asked * 8) << as_good << " of " << asked;
}

/// A step with the ops in -> made (module a) -> over (runs in place) -> out. The backward of each op reads
/// the tensors that PyTorch saves for it.
Graph step_in_place() {
    Graph graph;
    graph.name = "in place";
    for (const char* name : {"in", "made", "over", "out", "d_out", "d_over", "d_made", "d_in"})
        graph.tensors.push_back({.name = name, .bytes = Bytes(10)});
    const auto op = [&](const char* name, const char* module, Phase phase, std::vector<int> inputs,
                        int output) {
        Op made;
        made.name = name;
        made.module = module;
        made.time = Nanoseconds(1);
        made.phase = phase;
        for (const int t : inputs) made.inputs.emplace_back(t);
        made.outputs = {TensorId(output)};
        graph.ops.push_back(made);
    };
    op("aten::mm", "block.0", Phase::forward, {0}, 1);
    op("aten::relu_", "block.1", Phase::forward, {1}, 2);
    op("aten::mm", "block.2", Phase::forward, {2}, 3);
    op("loss", "", Phase::loss, {3}, 4);
    op("aten::mm", "block.2", Phase::backward, {2, 4}, 5);
    op("aten::threshold_backward", "block.1", Phase::backward, {2, 5}, 6);
    op("aten::mm", "block.0", Phase::backward, {0, 6}, 7);
    graph.ops[OpId(1)].inplace = {{TensorId(2), TensorId(1)}};
    for (int i = 0; i < 3; ++i) graph.ops[OpId(4 + i)].of = OpId(2 - i);
    graph.results = {TensorId(7)};
    return graph;
}

TEST(Selective, StopsEarlyAndSavesNothingThatIsWrittenOver) {
    const Graph graph = step_in_place();
    const FlatGraph flat = flatten(graph);
    const std::vector<Region> regions = checkpoint_regions(graph, flat);
    ASSERT_EQ(regions.front().module, "block");
    EXPECT_EQ(regions.front().ops, (std::vector<std::int32_t>{0, 1, 2}));
    EXPECT_EQ(regions.front().rerun, 2);
    EXPECT_EQ(regions.front().first_backward, 4);
    EXPECT_EQ(regions.front().last_backward, 6);
    for (const Region& region : regions)
        EXPECT_NE(region.module, "block.1") << "what it reads is written over";
    EXPECT_EQ(savable_ops(graph, flat), (std::vector<std::uint8_t>{0, 0, 1, 0, 0, 0, 0}));
}

TEST(Selective, SavesNoRandomNumbers) {
    Graph graph = step_in_place();
    graph.ops[OpId(2)].random = true;
    EXPECT_EQ(savable_ops(graph, flatten(graph))[2], 0);
}

TEST(Selective, TakesListsAndModulesThatRunTwiceApart) {
    Graph graph = step_in_place();
    graph.ops[OpId(1)].inplace.clear();
    for (const int op : {0, 1, 2}) graph.ops[OpId(op)].module = "blocks." + std::to_string(op) + ".fc";
    for (const Region& region : checkpoint_regions(graph, flatten(graph))) EXPECT_NE(region.module, "blocks");
    const TensorId weight =
        graph.tensors.push_back({.name = "w", .bytes = Bytes(1), .kind = TensorKind::parameter});
    for (const int op : {0, 2}) {
        graph.ops[OpId(op)].module = "shared.fc";
        graph.ops[OpId(op)].inputs.push_back(weight);
    }
    graph.ops[OpId(1)].module = "shared";
    EXPECT_TRUE(checkpoint_regions(graph, flatten(graph)).empty());
}

TEST(Selective, SelectorsAreOfAllBlocks) {
    Op op;
    op.name = "aten::mm";
    op.module = "layers.12.attention.wkv_a";
    EXPECT_EQ(selector_of(op), "layers.*.attention.wkv_a::mm");
    op.module = "";
    EXPECT_EQ(selector_of(op), "::mm");
}

/// The graph is that of a GPT with a module for each layer. Each backward op names its forward op.
TEST(Selective, TakesLessTimeTheMoreRoomThereIs) {
    const Graph graph = gpt_graph({.layers = 6});
    const FlatGraph flat = flatten(graph);
    const std::vector<Region> regions = checkpoint_regions(graph, flat);
    ASSERT_GE(regions.size(), 6U);
    const std::int64_t most = keep_all_peak(flat).value;
    for (const bool by_selectors : {false, true}) {
        SelectiveOptions options;
        options.of.by_selectors = by_selectors;
        std::optional<std::int64_t> before;
        int solved = 0;
        for (int share = 20; share <= 120; share += 5) {
            const Bytes budget(most / 100 * share);
            const Answer answer = make_selective(options)->solve({graph, flat}, budget, {}, {});
            expect_valid(graph, budget, answer, std::to_string(share));
            const std::optional<std::int64_t> time = time_of(answer);
            if (!time) {
                EXPECT_FALSE(before) << share;
                continue;
            }
            ++solved;
            if (before) {
                EXPECT_LE(*time, *before) << share;
            }
            before = time;
        }
        EXPECT_GE(solved, 10);
        EXPECT_EQ(*before, flat.base_time) << "nothing runs again where all fits";
    }
}

TEST(Selective, BySelectorsSavesAllOrNoneOfAKind) {
    const Graph graph = gpt_graph({.layers = 4});
    const FlatGraph flat = flatten(graph);
    const Bytes budget(keep_all_peak(flat).value / 100 * 60);
    const SelectiveAnswer answer = selective_plan({graph, flat}, budget, {}, {.by_selectors = true});
    const auto* plan = std::get_if<SelectivePlan>(&answer);
    ASSERT_TRUE(plan);
    std::map<std::string, std::set<bool>> decided;
    for (std::size_t i = 0; i < plan->regions.size(); ++i)
        for (int k = 0; k < plan->regions[i].rerun; ++k) {
            const std::int32_t op = plan->regions[i].ops[static_cast<std::size_t>(k)];
            decided[selector_of(graph.ops[OpId(op)])].insert(
                std::binary_search(plan->saved[i].begin(), plan->saved[i].end(), op));
        }
    ASSERT_FALSE(decided.empty());
    for (const auto& [selector, decisions] : decided) EXPECT_EQ(decisions.size(), 1U) << selector;
}

}  // namespace
}  // namespace rematlas
