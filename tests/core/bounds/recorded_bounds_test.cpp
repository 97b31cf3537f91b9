// Compares bounds with recorded bounds: see recorded.h.
#include <gtest/gtest.h>

#include "core/bounds/best_bound.h"
#include "core/bounds/chain_moments.h"
#include "core/bounds/first_order_lp.h"
#include "core/bounds/least_memory.h"
#include "core/bounds/moment_chain.h"
#include "core/bounds/one_moment.h"
#include "core/bounds/two_sided_moments.h"
#include "tests/core/support/graphs_of_each_kind.h"
#include "tests/core/support/recorded.h"

namespace rematlas {
namespace {

using namespace std::chrono_literals;

std::string at(const GraphOfAKind& of, Bytes budget) {
    return of.name + " at " + std::to_string(budget.value) + " B";
}

TEST(RecordedBounds, OfTheLeastMemory) {
    Recorded recorded(__FILE__, "recorded_least_memory");
    for (const GraphOfAKind& of : graphs_of_each_kind()) {
        const PeakBound bound = least_memory(of.flat, {.time = 1h});
        recorded.expect(of.name, bound.bytes.value, "B at op", bound.op.value, "beside", bound.tensors.size(),
                        "tensors");
    }
}

TEST(RecordedBounds, OfOneMoment) {
    Recorded recorded(__FILE__, "recorded_one_moment");
    for (const GraphOfAKind& of : graphs_of_each_kind())
        for (const Bytes budget : of.budgets) {
            for (const int moments : {1, 5, 5000}) {
                const OverheadBound bound =
                    overhead_lower_bound(of.flat, budget, {.time = 1h, .moments = moments});
                recorded.expect(at(of, budget) + ", " + std::to_string(moments) + " moments", bound.overhead,
                                "by", bound.moments);
            }
        }
}

TEST(RecordedBounds, OfChainsOfMoments) {
    Recorded recorded(__FILE__, "recorded_chain_moments");
    for (const GraphOfAKind& of : graphs_of_each_kind())
        for (const Bytes budget : of.budgets) {
            const ChainMoments relaxation(of.flat, budget.value,
                                          {.moments = 6, .suffixes = of.name == "random"});
            const DualBest best = solve_relaxation(relaxation.programme(), {.iterations = 310});
            recorded.expect(at(of, budget), relaxation.moments(), "moments,",
                            relaxation.programme().columns.size(), "columns,", relaxation.programme().rows(),
                            "rows,", relaxation.programme().value.size(), "entries,", best.value.bound, "ns,",
                            best.iterations, "iterations");
        }
}

TEST(RecordedBounds, OfMomentsWithCopies) {
    Recorded recorded(__FILE__, "recorded_two_sided_moments");
    for (const GraphOfAKind& of : graphs_of_each_kind())
        for (const Bytes budget : of.budgets) {
            const TwoSidedMoments relaxation(of.flat, budget.value, moment_chain(of.flat, budget.value, 3),
                                             {.to_host = 1e10, .to_device = 2e10}, 4);
            const DualBest best = solve_relaxation(
                relaxation.programme(),
                {.iterations = 310, .improve = [&](std::span<double> y) { relaxation.balance(y); }});
            recorded.expect(at(of, budget), relaxation.programme().columns.size(), "columns,",
                            relaxation.programme().rows(), "rows,", relaxation.programme().value.size(),
                            "entries,", relaxation.bound(best.value), "ns,", best.iterations, "iterations");
        }
}

TEST(RecordedBounds, OfTheBestOfThem) {
    Recorded recorded(__FILE__, "recorded_best_bound");
    for (const GraphOfAKind& of : graphs_of_each_kind()) {
        if (of.flat.op_count > 70) continue;
        const ProvenBound bound = best_bound(of.flat, of.budgets[1], {.time = 1h, .whole = false});
        recorded.expect(at(of, of.budgets[1]), bound.time, "ns by", static_cast<int>(bound.by));
    }
}

}  // namespace
}  // namespace rematlas
