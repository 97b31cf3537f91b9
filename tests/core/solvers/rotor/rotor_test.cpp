#include "core/solvers/rotor/rotor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/rotor/rotor_table.h"
#include "tests/core/support/answers.h"
#include "tests/core/support/long_chain.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

/// Makes all run sequences that checkpointing of a chain can give. Stage i is op i, the loss is op n, and the
/// backward op of stage i is op 2n - i. There are two choices: keep stage s for its backward op, or advance
/// to a checkpoint and come back later. By then the checkpoint is still on the device (`present`), or is made
/// again.
class ChainSequences {
  public:
    explicit ChainSequences(int stages) : stages_(stages) {}

    std::set<RunSequence> all() const { return range(0, stages_ - 1, false); }

  private:
    std::set<RunSequence> range(int s, int t, bool present) const {
        std::set<RunSequence> found;
        if (present) found = range(s, t, false);
        const RunSequence back =
            s == stages_ - 1 ? RunSequence{stages_, stages_ + 1} : RunSequence{2 * stages_ - s};
        if (s == t) {
            found.insert(joined(present ? RunSequence{} : RunSequence{s}, back));
            return found;
        }
        for (const RunSequence& above : range(s + 1, t, present))
            found.insert(joined(joined({s}, above), back));
        RunSequence ahead;
        for (int next = s + 1; next <= t; ++next) {
            ahead.push_back(next - 1);
            for (const RunSequence& above : range(next, t, present)) {
                for (const RunSequence& below : range(s, next - 1, true))
                    found.insert(joined(joined(ahead, above), below));
            }
        }
        return found;
    }

    static RunSequence joined(RunSequence a, const RunSequence& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    }

    int stages_;
};

/// Changes the sizes and times of the graph to numbers that are hardly ever equal and have no common divisor.
Graph with_uneven_costs(Graph graph, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (Tensor& t : graph.tensors)
        t.bytes = Bytes(t.bytes.value * 1'000'003 + static_cast<std::int64_t>(random() % 1000));
    for (Op& op : graph.ops)
        op.time = Nanoseconds(op.time.value * 1'000 + static_cast<std::int64_t>(random() % 1000));
    return graph;
}

/// Returns the chain with an additional op before each backward op. This op reads the incoming gradient and
/// the output of the stage, and makes a large tensor that no op reads.
Graph with_unread_tensors(const Graph& chain, int stages) {
    Graph graph = chain;
    graph.ops = {};
    for (const OpId id : chain.ops.ids()) {
        const int stage = 2 * stages - static_cast<int>(id.value);
        if (stage < stages) {
            Op unread;
            unread.name = "unread";
            unread.phase = Phase::backward;
            unread.time = Nanoseconds(1);
            unread.inputs = {chain.ops[OpId(stage)].outputs.front(), chain.ops[id].inputs.front()};
            std::sort(unread.inputs.begin(), unread.inputs.end());
            unread.outputs = {graph.tensors.push_back({"unread", Bytes(50), TensorKind::gradient})};
            graph.ops.push_back(unread);
        }
        graph.ops.push_back(chain.ops[id]);
    }
    return graph;
}

std::set<RunSequence> with_unread_tensors(const std::set<RunSequence>& sequences, int stages) {
    std::set<RunSequence> found;
    for (const RunSequence& sequence : sequences) {
        RunSequence runs;
        for (const int op : sequence) {
            if (op > stages) runs.push_back(2 * op - stages - 1);
            runs.push_back(op > stages ? 2 * op - stages : op);
        }
        found.insert(runs);
    }
    return found;
}

/// Checks Rotor's answers with a table for each budget, and with one table that all budgets share.
void expect_best_of(const std::set<RunSequence>& sequences, const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    std::map<std::int64_t, std::int64_t> least_time;  // least time for each peak
    for (const RunSequence& sequence : sequences) {
        const SequenceCost cost = cost_of(flat, sequence);
        const auto [at, fresh] = least_time.try_emplace(cost.peak, cost.time);
        if (!fresh) at->second = std::min(at->second, cost.time);
    }
    const std::unique_ptr<Solver> curve = make_rotor()->up_to(problem, Bytes(least_time.rbegin()->first), {});
    std::optional<std::int64_t> best;
    for (const auto& [peak, time] : least_time) {
        for (const std::int64_t budget : {peak - 1, peak}) {
            if (budget == peak) best = std::min(best.value_or(time), time);
            const std::string what = graph.name + " at " + std::to_string(budget);
            const Answer answer = curve->solve(problem, Bytes(budget), {}, {});
            expect_valid(graph, Bytes(budget), answer, what);
            EXPECT_EQ(time_of(answer), best) << what;
            EXPECT_EQ(time_of(make_rotor()->solve(problem, Bytes(budget), {}, {})), best) << what;
        }
    }
}

TEST(Rotor, is_the_best_of_all_checkpointing_sequences_of_small_chains_to_the_byte_at_every_budget) {
    for (int stages = 2; stages <= 5; ++stages) {
        const std::set<RunSequence> sequences = ChainSequences(stages).all();
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const Graph graph = random_chain(seed, stages, true);
            expect_best_of(sequences, graph);
            expect_best_of(sequences, with_uneven_costs(graph, seed));
            expect_best_of(with_unread_tensors(sequences, stages), with_unread_tensors(graph, stages));
        }
    }
}

void expect_curve_equals_solves(const Graph& graph, const RotorOptions& options) {
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    const std::unique_ptr<Solver> rotor = make_rotor(options);
    const Bytes least = least_peak(flat).bytes, most = keep_all_peak(flat);
    const std::unique_ptr<Solver> curve = rotor->up_to(problem, most, {});
    for (const Bytes budget : even_budgets(least, most, 20)) {
        const std::string what = named(graph, *rotor, budget);
        const Answer shared = curve->solve(problem, budget, {}, {});
        const Answer alone = rotor->solve(problem, budget, {}, {});
        expect_valid(graph, budget, shared, what);
        EXPECT_EQ(time_of(shared), time_of(alone)) << what;
        if (const auto* solution = std::get_if<Solution>(&shared)) {
            EXPECT_EQ(solution->steps, std::get<Solution>(alone).steps) << what;
        } else {
            EXPECT_EQ(std::get<Infeasible>(shared).smallest_found, std::get<Infeasible>(alone).smallest_found)
                << what;
        }
    }
}

TEST(Rotor, gives_from_one_table_the_schedules_of_single_solves) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        for (const Graph& graph :
             {random_chain(seed, 12), random_chain(seed, 30),
              random_training_graph(seed, {.forward_ops = 30}), random_odd_graph(seed, 40)}) {
            for (const RotorOptions& options : {RotorOptions{}, {.slots = 10}, {.max_stages = 7}}) {
                expect_curve_equals_solves(graph, options);
                expect_curve_equals_solves(with_uneven_costs(graph, seed), options);
            }
        }
    }
}

TEST(Rotor, takes_more_time_the_more_trade_offs_are_rounded_and_never_more_memory) {
    int worse = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const Graph graph = with_uneven_costs(random_chain(seed, 20, true), seed);
        const FlatGraph flat = flatten(graph);
        const Problem problem{graph, flat};
        const Bytes least = least_peak(flat).bytes, most = keep_all_peak(flat);
        const auto exact = make_rotor()->up_to(problem, most, {}),
                   rounded = make_rotor({.slots = 10})->up_to(problem, most, {});
        for (const Bytes budget : even_budgets(least, most, 20)) {
            const Answer answer = rounded->solve(problem, budget, {}, {});
            expect_valid(graph, budget, answer, graph.name);
            const auto time = time_of(answer), best = time_of(exact->solve(problem, budget, {}, {}));
            if (!time) continue;
            ASSERT_TRUE(best);
            EXPECT_LE(*best, *time);
            worse += *best < *time;
        }
    }
    EXPECT_GT(worse, 0);
}

/// An independent implementation of theorem 1 of the paper for chains whose stages are equal except the last.
/// It is a dynamic program over (stages of a part, whether the part ends at the loss, memory in MiB), written
/// from the recurrence. A part whose first boundary is present may drop this boundary.
class PlainChain {
  public:
    PlainChain(const std::vector<RotorStage>& stages, std::int64_t unit, int memory)
        : first_(stages[stages.size() > 2 ? 1 : 0]), last_(stages.back()), unit_(unit), memory_(memory) {
        const int n = static_cast<int>(stages.size());
        for (auto& kind : table_) {
            for (auto& present : kind) present.assign(static_cast<std::size_t>(n) + 1, {});
        }
        for (int length = 1; length <= n; ++length) {
            for (const bool ends : {false, true}) {
                if (length == n && !ends) continue;
                for (const bool present : {false, true}) fill(length, ends, present);
            }
        }
    }

    std::int64_t least_time(int length, int m) const { return at(length, true, false, m); }

  private:
    static constexpr std::int64_t kNone = RotorTable::kNever / 4;

    const RotorStage& last_of(bool ends) const { return ends ? last_ : first_; }
    const RotorStage& first_of(int length, bool ends) const { return length == 1 ? last_of(ends) : first_; }
    std::int64_t at(int length, bool ends, bool present, std::int64_t m) const {
        return m < 0 ? kNone
                     : table_[ends][present][static_cast<std::size_t>(length)][static_cast<std::size_t>(m)];
    }

    void fill(int length, bool ends, bool present) {
        auto& row = table_[ends][present][static_cast<std::size_t>(length)];
        for (int m = 0; m <= memory_; ++m) row.push_back(best(length, ends, present, m));
    }

    std::int64_t best(int length, bool ends, bool present, std::int64_t m) const {
        const RotorWay& way = first_of(length, ends).ways.front();
        const std::int64_t held = last_of(ends).gradients + (present ? last_of(ends).boundary : 0);
        const bool beside = present && length == 1;
        std::int64_t least = present ? at(length, ends, false, m) : kNone;
        const std::int64_t forward = held + (beside ? way.save_beside_peak : way.save_peak);
        if (std::max(forward, way.backward_peak) <= m * unit_) {
            const std::int64_t above =
                length == 1 ? (beside ? way.save_beside_time : way.save_last_time)
                            : way.save_time + at(length - 1, ends, present, m - way.saved / unit_);
            least = std::min(least, above + way.backward_time);
        }
        for (int ahead = 1; ahead < length; ++ahead) {
            const std::int64_t peak = ahead == 1 ? first_.advance_peak : first_.advance_peak_with_input;
            if (held + std::max(first_.advance_peak, peak) > m * unit_) continue;
            least = std::min(least, ahead * first_.advance_time +
                                        at(length - ahead, ends, present, m - first_.boundary / unit_) +
                                        at(ahead, false, true, m));
        }
        return least;
    }

    const RotorStage &first_, &last_;
    std::int64_t unit_;
    int memory_;
    std::vector<std::vector<std::int64_t>> table_[2][2];  ///< [at the loss][present], index: length and
                                                          ///< memory
};

TEST(Rotor, is_the_optimum_of_a_plain_programme_on_equal_chains_of_256_layers) {
    const std::int64_t unit = 1 << 20;
    for (const int layers : {2, 3, 7, 40, 256}) {
        const Graph graph = long_chain(ChainKind::equal, layers);
        const FlatGraph flat = flatten(graph);
        const RotorChain chain = rotor_chain({graph, flat}, layers);
        ASSERT_EQ(chain.stages.size(), static_cast<std::size_t>(layers));
        ASSERT_EQ(chain.stages[1].left, 0);
        const int memory = layers > 100 ? 400 : 12 * layers + 20;
        RotorTable table(chain.stages, memory * unit, 100'000);
        ASSERT_TRUE(table.exhaustive());
        ASSERT_TRUE(table.fill(Deadline({.time = std::chrono::hours(1)})));
        const PlainChain plain(chain.stages, unit, memory);
        int reached = 0;
        for (int m = 0; m <= memory; ++m) {
            const std::int64_t time = table.least_time(0, layers - 1, m * unit, false);
            if (time == RotorTable::kNever) {
                EXPECT_GT(plain.least_time(layers, m), time / 8) << layers << " at " << m;
            } else {
                EXPECT_EQ(time, plain.least_time(layers, m)) << layers << " at " << m;
                ++reached;
            }
        }
        EXPECT_GT(reached, 5);
        const Answer answer =
            make_rotor()->solve({graph, flat}, Bytes(memory * unit), {.time = std::chrono::hours(1)}, {});
        expect_valid(graph, Bytes(memory * unit), answer, graph.name);
        ASSERT_TRUE(time_of(answer));
        EXPECT_LE(*time_of(answer), table.least_time(0, layers - 1, memory * unit - chain.always, false));
    }
}

/// Long tables do not try all splits. At every budget, this makes the schedules only a little slower. A table
/// for smaller budgets gives the same answers.
TEST(Rotor, stays_within_half_a_per_cent_of_the_whole_table_where_it_tries_the_near_splits_only) {
    const Graph graph = long_chain(ChainKind::blocks, 176, 3);
    const FlatGraph flat = flatten(graph);
    const RotorChain chain = rotor_chain({graph, flat}, 176);
    const std::int64_t most = keep_all_peak(flat).value / 4;
    RotorTable whole(chain.stages, most, 100'000, RotorTable::Splits::all),
        near(chain.stages, most, 100'000, RotorTable::Splits::near),
        nearer(chain.stages, most / 3, 100'000, RotorTable::Splits::near);
    for (RotorTable* table : {&whole, &near, &nearer})
        ASSERT_TRUE(table->fill(Deadline({.time = std::chrono::hours(1)})));
    const std::int64_t least = whole.curve().front().bytes;
    EXPECT_EQ(near.curve().front().bytes, least);
    for (int share = 0; share <= 100; ++share) {
        const std::int64_t m = least + (most - least) * share / 100;
        const std::int64_t best = whole.least_time(0, 175, m, false),
                           time = near.least_time(0, 175, m, false);
        EXPECT_GE(time, best) << share;
        EXPECT_LE(static_cast<double>(time), 1.005 * static_cast<double>(best)) << share;
        if (m <= most / 3) {
            EXPECT_EQ(nearer.least_time(0, 175, m, false), time) << share;
        }
    }
}

TEST(Rotor, merges_the_stages_of_a_long_chain_to_as_many_of_about_equal_bytes) {
    for (const int layers : {600, 5000, 9001}) {
        const Graph graph = long_chain(ChainKind::equal, layers);
        const FlatGraph flat = flatten(graph);
        for (const int most : {2, 7, 64, 512}) {
            const RotorChain chain = rotor_chain({graph, flat}, most);
            ASSERT_EQ(chain.stages.size(), static_cast<std::size_t>(most)) << layers;
            std::size_t ops = 0, largest = 0;
            for (const RotorStage& stage : chain.stages) {
                ops += stage.ways.front().save.size();
                largest = std::max(largest, stage.ways.front().save.size());
            }
            EXPECT_EQ(ops, static_cast<std::size_t>(layers));
            EXPECT_LE(largest, 4 * ops / static_cast<std::size_t>(most)) << layers << " to " << most;
        }
    }
}

TEST(Rotor, has_an_answer_of_merged_stages_where_time_ends_a_long_table) {
    const Graph graph = long_chain(ChainKind::uneven, 900);
    const FlatGraph flat = flatten(graph);
    const Bytes budget(keep_all_peak(flat).value / 2);
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(time_of(make_rotor({.max_stages = 64})->solve({graph, flat}, budget, {}, {})));
    const auto merged = std::chrono::steady_clock::now() - begin;
    const Answer answer =
        make_rotor({.max_stages = 1000})
            ->solve({graph, flat}, budget, {.time = 4 * merged + std::chrono::seconds(1)}, {});
    expect_valid(graph, budget, answer, graph.name);
    EXPECT_TRUE(time_of(answer));
}

TEST(Rotor, says_that_a_table_was_stopped) {
    const Graph graph = random_chain(1, 40);
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    std::stop_source stop;
    stop.request_stop();
    const auto curve = make_rotor()->up_to(problem, keep_all_peak(flat), {.stop = stop.get_token()});
    const Answer answer = curve->solve(problem, keep_all_peak(flat) - Bytes(1), {}, {});
    ASSERT_TRUE(std::holds_alternative<Infeasible>(answer));
    EXPECT_NE(std::get<Infeasible>(answer).reason.find("before the table"), std::string::npos);
    EXPECT_FALSE(std::get<Infeasible>(answer).proven);
    EXPECT_EQ(time_of(curve->solve(problem, keep_all_peak(flat), {}, {})), flat.base_time);
}

}  // namespace
}  // namespace rematlas
