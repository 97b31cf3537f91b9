// What holds for parts of a sequence that are planned anew.
#include "core/solvers/atlas/window.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/milp/milp.h"
#include "core/solvers/atlas/greedy_start.h"
#include "core/solvers/atlas/window_search.h"
#include "core/solvers/required_once.h"
#include "tests/core/random_graph.h"

namespace rematlas::atlas {
namespace {

using std::chrono::hours;

/// Within the budget, and near it.
std::optional<Candidate> greedy(const FlatGraph& graph, std::int64_t budget) {
    const Candidate keep_all = Candidate::of(graph, required_once(graph));
    const Candidate found =
        best_start(graph, budget, keep_all, Deadline({.time = hours(1)}), 0, [](const Candidate&) {});
    if (found.peak > budget || found.time == keep_all.time) return std::nullopt;
    return found;
}

/// With the makers of inputs that run more than once, as a window asks.
std::vector<int> with_makers(const FlatGraph& graph, const RunSequence& runs, std::vector<int> ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
        for (const int t : graph.inputs[ops[i]]) {
            const int maker = graph.producer[t];
            if (std::count(runs.begin(), runs.end(), maker) > 1 &&
                std::find(ops.begin(), ops.end(), maker) == ops.end())
                ops.push_back(maker);
        }
    }
    return ops;
}

/// The least time within the budget over all reruns of the ops, each at most once before each run that makes
/// or reads what they make or read; the other runs stay. Nothing when there are too many choices.
std::optional<std::int64_t> best_by_hand(const FlatGraph& graph, std::int64_t budget, const RunSequence& runs,
                                         std::vector<int> ops) {
    std::sort(ops.begin(), ops.end(), [&](int a, int b) {
        return std::find(runs.begin(), runs.end(), a) < std::find(runs.begin(), runs.end(), b);
    });
    std::vector<std::uint8_t> touched(static_cast<std::size_t>(graph.tensor_count), 0);
    for (const int op : ops) {
        for (const int t : graph.inputs[op]) touched[t] = 1;
        for (const int t : graph.outputs[op]) touched[t] = 1;
    }
    RunSequence fixed;
    std::vector<int> stages;  // indices in fixed
    std::vector<std::uint8_t> ran(static_cast<std::size_t>(graph.op_count), 0);
    for (const int op : runs) {
        const bool free = std::find(ops.begin(), ops.end(), op) != ops.end();
        if (free && ran[op]) continue;
        ran[op] = 1;
        const auto is_touched = [&](int t) { return touched[t] != 0; };
        const auto in = graph.inputs[op], out = graph.outputs[op];
        if (std::any_of(in.begin(), in.end(), is_touched) || std::any_of(out.begin(), out.end(), is_touched))
            stages.push_back(static_cast<int>(fixed.size()));
        fixed.push_back(op);
    }
    struct Place {
        int op, before;  // an index in fixed
    };
    std::vector<Place> places;
    for (const int stage : stages) {
        for (const int op : ops)
            if (std::find(fixed.begin(), fixed.begin() + stage, op) != fixed.begin() + stage)
                places.push_back({op, stage});
    }
    if (places.size() > 12) return std::nullopt;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t choice = 0; choice < (1u << places.size()); ++choice) {
        RunSequence sequence;
        std::size_t place = 0;
        for (int i = 0; i < static_cast<int>(fixed.size()); ++i) {
            for (; place < places.size() && places[place].before == i; ++place)
                if (choice >> place & 1) sequence.push_back(places[place].op);
            sequence.push_back(fixed[i]);
        }
        if (!is_executable(graph, sequence)) continue;
        const SequenceCost cost = cost_of(graph, sequence);
        if (cost.peak <= budget) best = std::min(best, cost.time);
    }
    return best;
}

class Windows : public testing::Test {
  protected:
    void SetUp() override {
        if (milp_libraries().empty()) GTEST_SKIP() << "this build has no library for integer programmes";
    }
    Result<MilpAnswer> solve(const Window& window) {
        return solve_milp(milp_libraries().front(), window.programme(), {.relative_gap = 0});
    }
};

TEST_F(Windows, AreSolvedToWhatTryingAllRerunsFinds) {
    int compared = 0, better = 0;
    for (std::uint64_t seed = 1; seed <= 250; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph graph = flatten(random_training_graph(seed, {.forward_ops = 3}));
        const RunSequence once = required_once(graph);
        const std::int64_t most = cost_of(graph, once).peak, least = least_peak(graph).bytes.value;
        for (const std::int64_t budget : {least, (least + most) / 2}) {
            const std::optional<Candidate> start = greedy(graph, budget);
            if (!start) continue;
            for (const int first : once) {
                if (!graph.recomputable[first]) continue;
                const std::vector<int> ops = with_makers(graph, start->runs, {first});
                const std::optional<std::int64_t> best = best_by_hand(graph, budget, start->runs, ops);
                if (!best) continue;
                const Window window(graph, budget, start->runs, ops);
                const Result<MilpAnswer> answer = solve(window);
                ASSERT_TRUE(answer) << answer.error().message;
                ++compared;
                std::int64_t time = start->time;  // what takes as long or longer may be missing
                if (!answer->values.empty()) {
                    const RunSequence runs = window.decode(answer->values);
                    ASSERT_TRUE(is_executable(graph, runs));
                    const SequenceCost cost = cost_of(graph, runs);
                    EXPECT_LE(cost.peak, budget);
                    time = std::min(time, cost.time);
                }
                better += time < start->time;
                EXPECT_EQ(time, std::min(*best, start->time));
            }
        }
    }
    EXPECT_GT(compared, 300);
    EXPECT_GT(better, 20);
}

TEST_F(Windows, WithAllOpsFreeAreCheckmatesProgramme) {
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph graph = flatten(random_training_graph(seed, {.forward_ops = 4}));
        const RunSequence once = required_once(graph);
        const std::int64_t budget = (least_peak(graph).bytes.value + cost_of(graph, once).peak) / 2;
        const std::optional<Candidate> start = greedy(graph, budget);
        if (!start) continue;
        const Window window(graph, budget, start->runs, once);
        // Its order is that of the first runs.
        RunSequence first_runs;
        for (const int op : start->runs)
            if (std::find(first_runs.begin(), first_runs.end(), op) == first_runs.end())
                first_runs.push_back(op);
        if (first_runs != once) continue;
        const StagedModel whole(graph, budget, {.below = start->time});
        const Result<MilpAnswer> part = solve(window), all = solve_milp(milp_libraries().front(),
                                                                        whole.milp(), {.relative_gap = 0});
        ASSERT_TRUE(part && all);
        ASSERT_EQ(part->values.empty(), all->values.empty());
        if (all->values.empty()) continue;
        ++compared;
        EXPECT_EQ(cost_of(graph, window.decode(part->values)).time,
                  cost_of(graph, whole.decode(all->values)).time);
    }
    EXPECT_GT(compared, 10);
}

TEST_F(Windows, ContainTheSequenceTheyStartFrom) {
    int encoded = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph graph = flatten(random_training_graph(seed, {.forward_ops = 6}));
        const RunSequence once = required_once(graph);
        const std::int64_t budget = (least_peak(graph).bytes.value + cost_of(graph, once).peak) / 2;
        const std::optional<Candidate> start = greedy(graph, budget);
        if (!start) continue;
        const Window window(graph, budget, start->runs,
                            with_makers(graph, start->runs, {start->runs.front()}));
        const std::optional<std::vector<double>> point = window.start();
        if (!point) continue;
        ++encoded;
        EXPECT_EQ(cost_of(graph, window.decode(*point)).time, start->time);
    }
    EXPECT_GT(encoded, 30);
}

TEST_F(Windows, OneAfterAnotherImproveGreedySchedulesWithinTheBudget) {
    int improved = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE(seed);
        const FlatGraph graph = flatten(random_training_graph(seed, {.forward_ops = 12}));
        const RunSequence once = required_once(graph);
        const std::int64_t budget = (2 * least_peak(graph).bytes.value + cost_of(graph, once).peak) / 3;
        const std::optional<Candidate> start = greedy(graph, budget);
        if (!start) continue;
        WindowSearch search(graph, budget, milp_libraries().front(), seed);
        std::int64_t last = start->time;
        const auto report = [&](const Candidate& found) {
            EXPECT_LT(found.time, last);
            last = found.time;
        };
        const Candidate better = search.improve(*start, 10, Deadline({.time = hours(1)}), report);
        EXPECT_TRUE(is_executable(graph, better.runs));
        EXPECT_EQ(better.time, last);
        EXPECT_LE(cost_of(graph, better.runs).peak, budget);
        improved += better.time < start->time;
    }
    EXPECT_GT(improved, 0);
}

}  // namespace
}  // namespace rematlas::atlas
