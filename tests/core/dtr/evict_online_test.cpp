// Tests online eviction on small programs whose runs are known, and properties that hold for any program.
#include "core/dtr/evict_online.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/dtr/random_trace.h"

namespace rematlas {
namespace {

using Status = DtrOutcome::Status;

constexpr DtrHeuristic kHeuristics[] = {DtrHeuristic::dtr_eq, DtrHeuristic::dtr,  DtrHeuristic::local,
                                        DtrHeuristic::lru,    DtrHeuristic::size, DtrHeuristic::msps,
                                        DtrHeuristic::random};
constexpr DtrDeallocation kDeallocations[] = {DtrDeallocation::eager, DtrDeallocation::ignore,
                                              DtrDeallocation::banish};

/// Adds a tensor of `bytes` bytes that is made in `time` from `inputs`.
int made(Trace& trace, std::int64_t bytes, std::int64_t time, std::vector<int> inputs) {
    return trace.call({.time = time, .inputs = std::move(inputs)}, {{.bytes = bytes}}).front();
}

/// `b`, `c` and `d` are made from `a`. They have 2, 3 and 4 bytes and take times 1, 4 and 9. Then one op
/// reads all three.
struct Fan {
    Trace trace;
    int a = made(trace, 1, 1, {});
    int b = made(trace, 2, 1, {a}), c = made(trace, 3, 4, {a}), d = made(trace, 4, 9, {a});
    int use = made(trace, 1, 1, {b, c, d});
    enum Op { op_a, op_b, op_c, op_d, op_use };
};

std::vector<int> reruns(const DtrOutcome& outcome, int calls) {
    std::vector<bool> ran(static_cast<std::size_t>(calls), false);
    std::vector<int> again;
    for (int op : outcome.runs) {
        if (ran[op]) again.push_back(op);
        ran[op] = true;
    }
    return again;
}

TEST(OnlineEviction, runs_each_op_once_when_everything_fits) {
    const Fan fan;
    for (const DtrHeuristic heuristic : kHeuristics) {
        const DtrOutcome outcome = evict_online(fan.trace, Bytes(11), {.heuristic = heuristic});
        EXPECT_EQ(outcome.status, Status::ok);
        EXPECT_EQ(outcome.runs, (std::vector<int>{0, 1, 2, 3, 4}));
        EXPECT_EQ(outcome.time, 16);
        EXPECT_EQ(outcome.base_time, 16);
        EXPECT_EQ(outcome.peak, Bytes(11));
        EXPECT_EQ(outcome.evictions, 0);
        EXPECT_EQ(outcome.rematerializations, 0);
    }
}

TEST(OnlineEviction, evicts_what_the_heuristic_says) {
    Trace trace;
    const int a = made(trace, 0, 1, {});
    const int b = made(trace, 2, 12, {a}), c = made(trace, 3, 1, {a}), d = made(trace, 4, 3, {a});
    trace.pin(a);
    made(trace, 2, 1, {});
    made(trace, 1, 1, {b, c, d});
    const auto first_rerun = [&](DtrHeuristic heuristic) {
        const DtrOutcome outcome = evict_online(trace, Bytes(10), {.heuristic = heuristic});
        return reruns(outcome, 6);
    };
    // The fifth op is called at time 17. `b` was last used at 13, `c` at 14 and `d` just now. For `b`, `c`
    // and `d`, time / (bytes * staleness) is 12 / (2 * 4), 1 / (3 * 3) and infinite; time / bytes is 6, 1/3
    // and 3/4.
    EXPECT_EQ(first_rerun(DtrHeuristic::local).front(), 2);
    EXPECT_EQ(first_rerun(DtrHeuristic::dtr).front(), 2);
    EXPECT_EQ(first_rerun(DtrHeuristic::dtr_eq).front(), 2);
    EXPECT_EQ(first_rerun(DtrHeuristic::lru).front(), 1);
    EXPECT_EQ(first_rerun(DtrHeuristic::size).front(), 3);
    EXPECT_EQ(first_rerun(DtrHeuristic::msps).front(), 2);
}

TEST(OnlineEviction, makes_a_view_again_after_its_storage) {
    Trace trace;
    const int root = made(trace, 4, 5, {});
    const int view = trace.call({.time = 1, .inputs = {root}}, {{.view_of = 0}}).front();
    made(trace, 8, 1, {});
    made(trace, 1, 1, {view});
    const DtrOutcome outcome = evict_online(trace, Bytes(9), {.heuristic = DtrHeuristic::lru});
    EXPECT_EQ(outcome.status, Status::ok);
    EXPECT_EQ(outcome.runs, (std::vector<int>{0, 1, 2, 0, 1, 3}));
}

TEST(OnlineEviction, keeps_a_storage_while_a_view_of_it_is_referenced) {
    Trace trace;
    const int root = made(trace, 4, 5, {});
    const int view = trace.call({.time = 1, .inputs = {root}}, {{.view_of = 0}}).front();
    trace.release(root);
    made(trace, 4, 1, {view});
    trace.release(view);
    made(trace, 4, 1, {});
    const DtrOutcome outcome = evict_online(trace, Bytes(8));
    EXPECT_EQ(outcome.status, Status::ok);
    EXPECT_EQ(outcome.evictions, 0);
    EXPECT_EQ(outcome.peak, Bytes(8));
}

TEST(OnlineEviction, never_evicts_constants) {
    Trace trace;
    const int w = trace.constant(6);
    trace.release(w);
    const int x = made(trace, 3, 1, {w});
    made(trace, 3, 1, {x});
    for (const DtrHeuristic heuristic : kHeuristics) {
        EXPECT_EQ(evict_online(trace, Bytes(12), {.heuristic = heuristic}).status, Status::ok);
        EXPECT_EQ(evict_online(trace, Bytes(11), {.heuristic = heuristic}).status, Status::oom);
    }
}

TEST(OnlineEviction, brings_back_what_must_be_there_at_the_end) {
    Trace trace;
    const int x = made(trace, 3, 2, {}), y = made(trace, 4, 1, {});
    trace.release(y);
    made(trace, 4, 1, {});
    trace.pin(x);
    const DtrOutcome outcome = evict_online(
        trace, Bytes(7), {.heuristic = DtrHeuristic::lru, .deallocation = DtrDeallocation::ignore});
    EXPECT_EQ(outcome.status, Status::ok);
    EXPECT_EQ(outcome.runs, (std::vector<int>{0, 1, 2, 0}));
    EXPECT_EQ(outcome.evictions, 2);
}

TEST(OnlineEviction, takes_the_bytes_of_all_outputs_again_when_an_op_reruns_for_one) {
    Trace trace;
    const std::vector<int> pair = trace.call({.time = 1}, {{.bytes = 3}, {.bytes = 2}});
    trace.pin(pair[1]);
    made(trace, 3, 1, {});
    made(trace, 0, 1, {pair[0]});
    // During the rerun 7 bytes are held: the pinned 2 bytes, and 3 + 2 bytes for both outputs. Before the
    // rerun, the tensor that the second op made is evicted.
    EXPECT_EQ(evict_online(trace, Bytes(7), {.heuristic = DtrHeuristic::lru}).status, Status::ok);
    EXPECT_EQ(evict_online(trace, Bytes(7), {.heuristic = DtrHeuristic::lru}).peak, Bytes(7));
    EXPECT_EQ(evict_online(trace, Bytes(6), {.heuristic = DtrHeuristic::lru}).status, Status::oom);
}

/// `y` is made from `x`, and the program drops `x`. Then `z` is made and dropped, and `y` is read.
TEST(OnlineEviction, deallocates_by_its_policy) {
    Trace trace;
    const int x = made(trace, 2, 1, {}), y = made(trace, 2, 1, {x});
    trace.release(x);
    const int z = made(trace, 4, 1, {});
    trace.release(z);
    made(trace, 1, 1, {y});
    const auto run = [&](DtrDeallocation deallocation, std::int64_t budget) {
        return evict_online(trace, Bytes(budget),
                            {.heuristic = DtrHeuristic::lru, .deallocation = deallocation});
    };
    EXPECT_EQ(run(DtrDeallocation::eager, 99).peak, Bytes(6));
    EXPECT_EQ(run(DtrDeallocation::ignore, 99).peak, Bytes(9));
    EXPECT_EQ(run(DtrDeallocation::banish, 99).peak, Bytes(6));
    // With 5 bytes, `y` must be evicted to make `z`. Then `eager` makes `x` again to make `y` again. With
    // `banish`, `y` is pinned, because `x` no longer exists.
    EXPECT_EQ(run(DtrDeallocation::eager, 5).status, Status::ok);
    EXPECT_EQ(run(DtrDeallocation::eager, 5).runs, (std::vector<int>{0, 1, 2, 0, 1, 3}));
    EXPECT_EQ(run(DtrDeallocation::ignore, 5).runs, (std::vector<int>{0, 1, 2, 0, 1, 3}));
    EXPECT_EQ(run(DtrDeallocation::banish, 5).status, Status::oom);
    EXPECT_EQ(run(DtrDeallocation::banish, 6).status, Status::ok);
}

TEST(OnlineEviction, does_not_banish_what_an_evicted_storage_was_made_from) {
    Trace trace;
    const int x = made(trace, 2, 1, {}), y = made(trace, 2, 1, {x});
    made(trace, 4, 1, {});  // evicts `x` and `y`
    trace.release(x);
    made(trace, 1, 1, {y});
    const DtrOutcome outcome = evict_online(
        trace, Bytes(5), {.heuristic = DtrHeuristic::lru, .deallocation = DtrDeallocation::banish});
    EXPECT_EQ(outcome.status, Status::ok);
    EXPECT_EQ(outcome.runs, (std::vector<int>{0, 1, 2, 0, 1, 3}));
}

TEST(OnlineEviction, keeps_outputs_of_ops_that_run_once_until_no_rerun_can_need_them) {
    Trace trace;
    const int once = trace.call({.time = 1, .recomputable = false}, {{.bytes = 3}}).front();
    const int y = made(trace, 1, 1, {once});
    trace.release(once);
    trace.release(made(trace, 2, 1, {}));
    trace.release(y);
    made(trace, 4, 1, {});
    const DtrOutcome outcome = evict_online(trace, Bytes(6));
    EXPECT_EQ(outcome.status, Status::ok);
    // At the peak, `once` (3 bytes), `y` (1 byte) and the tensor of 2 bytes are held, because a rerun of `y`
    // still needs `once`. The last op needs less.
    EXPECT_EQ(outcome.peak, Bytes(6));
    EXPECT_EQ(outcome.rematerializations, 0);
    EXPECT_EQ(evict_online(trace, Bytes(4)).status, Status::oom);
}

TEST(OnlineEviction, counts_workspaces_and_saves_what_runs_in_place) {
    Trace trace;
    const int x = made(trace, 4, 1, {});
    const int y =
        trace.call({.time = 1, .workspace = 1, .inputs = {x}, .in_place = {{x, 4}}}, {{.bytes = 4}}).front();
    trace.release(x);
    made(trace, 1, 1, {y});
    EXPECT_EQ(evict_online(trace, Bytes(99)).peak, Bytes(5));
    EXPECT_EQ(evict_online(trace, Bytes(99), {.deallocation = DtrDeallocation::ignore}).peak, Bytes(9));
}

TEST(OnlineEviction, gives_up_when_reruns_pass_the_limit) {
    const Trace trace = unit_chain_trace(64);
    const DtrOptions options{.heuristic = DtrHeuristic::size, .thrash = 1.5};
    const DtrOutcome outcome = evict_online(trace, Bytes(8), options);
    EXPECT_EQ(outcome.status, Status::thrash);
    EXPECT_LE(outcome.rematerializations, 65);  // half of the 128 calls
    EXPECT_GE(outcome.rematerializations, 64);
}

TEST(OnlineEviction, stops_when_told) {
    const Trace trace = random_trace(1, 2000);
    int asked = 0;
    const DtrOutcome outcome =
        evict_online(trace, unbounded_peak(trace), {}, [&](const DtrOutcome&, double done) {
            EXPECT_GE(done, 0);
            EXPECT_LE(done, 1);
            return ++asked < 3;
        });
    EXPECT_EQ(outcome.status, Status::stopped);
    EXPECT_EQ(asked, 3);
}

/// Checks properties that hold for every program, heuristic, policy and budget.
void expect_sound(const Trace& trace, const DtrOutcome& outcome, std::int64_t budget) {
    EXPECT_LE(outcome.peak, Bytes(budget));
    std::vector<bool> ran(trace.ops.size(), false);
    std::int64_t time = 0, again = 0;
    for (int op : outcome.runs) {
        for (int t : trace.ops[op].inputs) EXPECT_TRUE(ran[trace.tensors[t].op]);
        again += ran[op];
        ran[op] = true;
        time += trace.ops[op].time;
    }
    EXPECT_EQ(outcome.time, time);
    EXPECT_EQ(outcome.rematerializations, again);
    if (outcome.status != Status::ok) return;
    EXPECT_EQ(std::count(ran.begin(), ran.end(), true), static_cast<long>(trace.ops.size()));
    if (outcome.evictions == 0) {
        EXPECT_EQ(again, 0);
    }
}

TEST(OnlineEviction, keeps_every_budget_on_random_programs) {
    int ended_well = 0, reran = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Trace trace = random_trace(seed, 60);
        const std::int64_t peak = unbounded_peak(trace).value;
        for (const DtrHeuristic heuristic : kHeuristics) {
            for (const DtrDeallocation deallocation : kDeallocations) {
                for (const std::int64_t budget : {peak, peak * 3 / 4, peak / 2}) {
                    const DtrOptions options{
                        .heuristic = heuristic, .deallocation = deallocation, .sample = seed % 3 == 0};
                    const DtrOutcome outcome = evict_online(trace, Bytes(budget), options);
                    expect_sound(trace, outcome, budget);
                    ended_well += outcome.status == Status::ok;
                    reran += outcome.status == Status::ok && outcome.rematerializations > 0;
                }
            }
        }
    }
    EXPECT_GT(ended_well, 1000);
    EXPECT_GT(reran, 500);
}

/// Tests the claim in section 3 of the paper: on a chain of n ops with memory of O(sqrt(n)), the number of
/// runs is O(n). The ratios of runs to calls must be those of the published simulator.
TEST(OnlineEviction, runs_linearly_many_ops_on_a_chain_with_memory_of_the_order_of_its_root) {
    const auto ratio = [](DtrHeuristic heuristic, int n) {
        const Bytes budget(2 * static_cast<std::int64_t>(std::ceil(std::sqrt(n))));
        const DtrOutcome outcome =
            evict_online(unit_chain_trace(n), budget, {.heuristic = heuristic, .thrash = 100});
        EXPECT_EQ(outcome.status, Status::ok) << n;
        return outcome.overhead();
    };
    const double published[][2] = {{16, 1.25},  {64, 1.38},  {144, 1.42},
                                   {256, 1.45}, {484, 1.48}, {1024, 1.48}};
    for (const auto& [n, runs] : published) {
        EXPECT_NEAR(ratio(DtrHeuristic::dtr, static_cast<int>(n)), runs, 0.01) << n;
        EXPECT_LE(ratio(DtrHeuristic::dtr_eq, static_cast<int>(n)), 1.6) << n;
    }
    for (const DtrHeuristic heuristic : {DtrHeuristic::lru, DtrHeuristic::size}) {
        EXPECT_GT(ratio(heuristic, 256), 2 * ratio(heuristic, 64));
    }
}

}  // namespace
}  // namespace rematlas
