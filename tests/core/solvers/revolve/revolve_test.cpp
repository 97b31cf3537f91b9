#include "core/solvers/revolve/revolve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/schedule/run_sequence.h"
#include "core/solvers/rotor/rotor.h"
#include "tests/core/support/long_chain.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

/// Tests theorem 1 of Griewank and Walther. Let beta(c, r) = (c + r choose c), and let r be the least number
/// such that beta(c, r) >= n. Then reversing n stages with c checkpoints takes r n - beta(c + 1, r - 1)
/// forward runs. Like `revolve_advances`, this count does not include the last run of each stage, which makes
/// the tensors that the backward of the stage reads.
TEST(Revolve, advances_as_often_as_the_binomial_formula_says) {
    const auto beta = [](int c, int r) {
        if (r < 0) return 0.0;
        double product = 1;
        for (int i = 1; i <= c; ++i) product = product * (r + i) / i;
        return std::round(product);
    };
    const auto least = revolve_advances(8, 60);
    for (int extra = 0; extra <= 8; ++extra) {
        const int c = extra + 1;  // the input is the first checkpoint
        for (int n = 1; n <= 60; ++n) {
            int r = 0;
            while (beta(c, r) < n) ++r;
            EXPECT_EQ(double(least[extra][n]), r * n - beta(c + 1, r - 1))
                << c << " checkpoints, " << n << " stages";
        }
    }
}

TEST(Revolve, takes_less_time_the_more_memory_it_has_and_is_no_better_than_rotor_on_chains) {
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const Graph graph = random_chain(seed, 14, /*reads_both=*/true);
        const FlatGraph flat = flatten(graph);
        const std::int64_t least = least_peak(flat).bytes.value,
                           most = cost_of(flat, keep_all_sequence(flat)).peak;
        double last = INFINITY;
        for (int share = 0; share <= 10; ++share) {
            const Bytes budget(least + (most - least) * share / 10);
            const Answer revolve = make_revolve()->solve({graph, flat}, budget, {}, {});
            const Answer rotor = make_rotor()->solve({graph, flat}, budget, {}, {});
            if (!std::holds_alternative<Solution>(revolve)) continue;
            ASSERT_TRUE(std::holds_alternative<Solution>(rotor));
            const Solution& solution = std::get<Solution>(revolve);
            EXPECT_LE(std::get<Solution>(rotor).time, solution.time)
                << "seed " << seed << ", share " << share;
            EXPECT_LE(solution.overhead, last);
            last = solution.overhead;
            ++compared;
        }
    }
    EXPECT_GT(compared, 30);
}

/// The first run of each stage except the last is an advance, but is not a rerun.
TEST(Revolve, reruns_as_often_as_the_formula_says_with_one_checkpoint_more_for_each_byte) {
    for (int n : {2, 3, 7, 20, 33}) {
        const Graph graph = unit_chain(n);
        const FlatGraph flat = flatten(graph);
        const auto advances = revolve_advances(n, n);
        const std::int64_t least = least_peak(flat).bytes.value,
                           most = cost_of(flat, keep_all_sequence(flat)).peak;
        for (std::int64_t budget = least; budget <= most; ++budget) {
            const Answer answer = make_revolve()->solve({graph, flat}, Bytes(budget), {}, {});
            ASSERT_TRUE(std::holds_alternative<Solution>(answer)) << n << " stages at " << budget;
            EXPECT_EQ(std::get<Solution>(answer).time.value - flat.base_time,
                      advances[budget - least][n] - (n - 1))
                << n << " stages at " << budget;
        }
    }
}

}  // namespace
}  // namespace rematlas
