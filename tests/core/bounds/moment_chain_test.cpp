#include "core/bounds/moment_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/schedule/run_sequence.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

/// Returns, by op, all ops that must run before it.
std::vector<std::set<int>> ancestors_of(const FlatGraph& flat) {
    std::vector<std::set<int>> ancestors(flat.op_count);
    for (int op = 0; op < flat.op_count; ++op) {
        for (int t : flat.inputs[op]) {
            const int maker = flat.producer[t];
            ancestors[op].insert(maker);
            ancestors[op].insert(ancestors[maker].begin(), ancestors[maker].end());
        }
    }
    return ancestors;
}

FlatGraph random_flat(std::uint64_t seed) {
    return flatten(seed % 2 ? random_training_graph(seed, {.forward_ops = 3 + static_cast<int>(seed % 12)})
                            : random_odd_graph(seed, static_cast<int>(seed % 40)));
}

/// Returns budgets from 0 to the peak without reruns.
std::vector<std::int64_t> budgets(const FlatGraph& flat) {
    const std::int64_t most = keep_all_peak(flat).value;
    return {0, most / 2, most * 3 / 4, most * 7 / 8, most - 1, most};
}

TEST(MomentChain, memory_without_reruns_is_that_of_each_required_op_once) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        FlatGraph flat = random_flat(seed);
        flat.inplace.clear();
        std::fill(flat.inplace_begin.begin(), flat.inplace_begin.end(), 0);
        const RunSequence once = required_once(flat);
        const std::vector<std::int64_t> memory = memory_of(flat, once);
        std::vector<std::int64_t> expected(flat.op_count, 0);
        for (std::size_t i = 0; i < once.size(); ++i) expected[once[i]] = memory[i];
        EXPECT_EQ(memory_without_reruns(flat), expected) << seed;
    }
}

TEST(MomentChain, goes_through_required_ops_over_the_budget_and_leaves_none_out_between_them) {
    int longest = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const FlatGraph flat = random_flat(seed);
        const auto ancestors = ancestors_of(flat);
        const std::vector<std::int64_t> during = memory_without_reruns(flat);
        for (const std::int64_t budget : budgets(flat)) {
            const auto is_over = [&](int op) { return flat.required[op] && during[op] > budget; };
            const MomentChain chain = moment_chain(flat, budget);
            bool any = false;
            for (int op = 0; op < flat.op_count; ++op) any = any || is_over(op);
            ASSERT_EQ(chain.ops.empty(), !any);
            if (!any) {
                EXPECT_EQ(chain.fullest, -1);
                continue;
            }
            ASSERT_TRUE(chain.fullest == 0 || chain.fullest == 1);
            for (std::size_t i = 0; i < chain.ops.size(); ++i) {
                EXPECT_TRUE(is_over(chain.ops[i]));
                EXPECT_LE(during[chain.ops[i]], during[chain.ops[chain.fullest]]);
                if (i > 0) {
                    EXPECT_TRUE(ancestors[chain.ops[i]].contains(chain.ops[i - 1]));
                }
                for (int op = 0; op < flat.op_count; ++op) {
                    const bool between =
                        is_over(op) && ancestors[op].contains(chain.ops[i]) &&
                        (i + 1 == chain.ops.size() || ancestors[chain.ops[i + 1]].contains(op));
                    EXPECT_FALSE(between) << seed << ": " << op;
                }
            }
            longest = std::max(longest, static_cast<int>(chain.ops.size()));
        }
    }
    EXPECT_GT(longest, 10);
}

TEST(MomentChain, of_so_many_at_most_is_a_part_of_the_chain_with_the_fullest) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const FlatGraph flat = random_flat(seed);
        for (const std::int64_t budget : budgets(flat)) {
            const MomentChain all = moment_chain(flat, budget);
            if (all.ops.empty()) continue;
            for (const int most : {1, 2, 3, 5, 100}) {
                const MomentChain some = moment_chain(flat, budget, most);
                EXPECT_EQ(some.ops.size(), std::min(all.ops.size(), static_cast<std::size_t>(most)));
                EXPECT_TRUE(std::is_sorted(some.ops.begin(), some.ops.end()));
                EXPECT_TRUE(std::includes(all.ops.begin(), all.ops.end(), some.ops.begin(), some.ops.end()));
                EXPECT_EQ(some.ops[some.fullest], all.ops[all.fullest]);
                if (most > 1) {
                    EXPECT_EQ(some.ops.front(), all.ops.front());
                }
            }
        }
    }
}

/// The windows in which an op may run follow from its ancestors and descendants. `first` is the window after
/// the last moment that is an ancestor of the op. `last` is the window that ends with the first moment that
/// is the op itself or a descendant.
TEST(MomentChain, windows_hold_what_the_order_of_ops_decides) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const FlatGraph flat = random_flat(seed);
        const auto ancestors = ancestors_of(flat);
        for (const std::int64_t budget : budgets(flat)) {
            const MomentChain chain = moment_chain(flat, budget, seed % 3 ? 0 : 4);
            const MomentWindows windows = moment_windows(flat, chain);
            const int moments = static_cast<int>(chain.ops.size());
            for (int op = 0; op < flat.op_count; ++op) {
                int first = 0, last = moments;
                for (int k = 0; k < moments; ++k) {
                    if (ancestors[op].contains(chain.ops[k])) first = k + 1;
                    if (op == chain.ops[k] || ancestors[chain.ops[k]].contains(op)) last = std::min(last, k);
                }
                EXPECT_EQ(windows.first[op], first);
                if (flat.required[op]) {
                    EXPECT_EQ(windows.last[op], last);
                }
            }
        }
    }
}

}  // namespace
}  // namespace rematlas
