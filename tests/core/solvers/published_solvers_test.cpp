// What holds for every answer of the published solvers: valid, within the budget, never below the optimum.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "core/checking/check.h"
#include "core/planning/solve.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/chen/chen.h"
#include "core/solvers/dtr/dtr.h"
#include "core/solvers/hierarchical/hiremate.h"
#include "core/solvers/hierarchical/rockmate.h"
#include "core/solvers/revolve/revolve.h"
#include "core/solvers/rotor/rotor.h"
#include "core/solvers/rotor/rotor_table.h"
#include "core/solving/solver.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/long_chain.h"
#include "tests/core/support/problem_files.h"
#include "tests/core/support/random_graph.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

std::vector<std::unique_ptr<Solver>> solvers() {
    std::vector<std::unique_ptr<Solver>> all;
    all.push_back(make_chen_sqrt());
    all.push_back(make_chen_greedy());
    all.push_back(make_revolve());
    all.push_back(make_rotor());
    all.push_back(make_rotor({.slots = 10, .max_stages = 3}));
    const hierarchical::BlockTableOptions brief{
        .bottom = {.saved_limits = 2, .peak_limits = 2, .moves_an_op = 10, .least_moves = 100},
        .level_saved_limits = 2,
        .level_peak_limits = 2,
        .level_moves = 100};
    all.push_back(make_rockmate({.blocks = brief}));
    all.push_back(
        make_rockmate({.partition = {.by = Partition::bottom_up, .most_items = 2}, .blocks = brief}));
    HiremateOptions few;
    few.partition.most_items = 2;
    few.blocks = brief;
    all.push_back(make_hiremate(few));
    for (DtrHeuristic heuristic :
         {DtrHeuristic::dtr_eq, DtrHeuristic::dtr, DtrHeuristic::local, DtrHeuristic::lru, DtrHeuristic::size,
          DtrHeuristic::msps, DtrHeuristic::random}) {
        for (DtrDeallocation deallocation :
             {DtrDeallocation::eager, DtrDeallocation::ignore, DtrDeallocation::banish}) {
            all.push_back(make_dtr({.heuristic = heuristic, .deallocation = deallocation}));
        }
    }
    return all;
}

/// The independent checker's verdict on an answer; a solution must keep the budget and be what it says.
void expect_valid(const Graph& graph, Bytes budget, const Answer& answer, const std::string& what) {
    if (const auto* infeasible = std::get_if<Infeasible>(&answer)) {
        EXPECT_TRUE(!infeasible->proven || infeasible->needed > budget) << what;
        EXPECT_TRUE(!infeasible->smallest_found || *infeasible->smallest_found > budget) << what;
        return;
    }
    const Solution& solution = std::get<Solution>(answer);
    Schedule schedule;
    schedule.steps = solution.steps;
    schedule.graph_sha256 = graph.sha256;
    const CheckReport report = check(graph, schedule, budget);
    EXPECT_TRUE(report.ok()) << what << ": " << (report.violations.empty() ? "" : report.violations.front());
    EXPECT_EQ(report.time, solution.time) << what;
    EXPECT_EQ(report.peak, solution.peak) << what;
}

std::string named(const Graph& graph, const Solver& solver, Bytes budget) {
    return graph.name + " " + std::string(solver.name()) + " at " + std::to_string(budget.value);
}

/// Budgets from below the least peak to the peak without reruns.
std::vector<std::int64_t> budgets(const FlatGraph& flat) {
    const std::int64_t least = brute_force_least_peak(flat),
                       most = cost_of(flat, keep_all_sequence(flat)).peak;
    return {least - 1, least, least + (most - least) / 3, least + (most - least) * 2 / 3, most};
}

void compare_with_brute_force(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    const auto all = solvers();
    for (std::int64_t budget : budgets(flat)) {
        const auto optimum = brute_force(flat, budget);
        for (const auto& solver : all) {
            const Answer answer = solver->solve({graph, flat}, Bytes(budget), {}, {});
            const std::string what = named(graph, *solver, Bytes(budget));
            expect_valid(graph, Bytes(budget), answer, what);
            const auto* solution = std::get_if<Solution>(&answer);
            if (!solution) continue;
            ASSERT_TRUE(optimum) << what;
            EXPECT_GE(solution->time.value, optimum->time) << what;
            if (solution->status == Status::optimal) {
                EXPECT_EQ(solution->time.value, optimum->time) << what;
            }
        }
    }
}

TEST(PublishedSolvers, never_beat_the_brute_force_on_random_training_graphs) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        compare_with_brute_force(
            random_training_graph(seed, {.forward_ops = 2 + static_cast<int>(seed % 2)}));
}

TEST(PublishedSolvers, never_beat_the_brute_force_on_odd_graphs) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        compare_with_brute_force(random_odd_graph(seed, static_cast<int>(seed % 9)));
}

TEST(PublishedSolvers, give_valid_schedules_on_larger_random_graphs) {
    const auto all = solvers();
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        for (const Graph& graph :
             {random_training_graph(seed, {.forward_ops = 30}), random_odd_graph(seed, 60)}) {
            const FlatGraph flat = flatten(graph);
            const std::int64_t least = least_peak(flat).bytes.value,
                               most = cost_of(flat, keep_all_sequence(flat)).peak;
            for (int i = 0; i <= 4; ++i) {
                const Bytes budget(least + (most - least) * i / 4);
                for (const auto& solver : all) {
                    expect_valid(graph, budget, solver->solve({graph, flat}, budget, {}, {}),
                                 named(graph, *solver, budget));
                }
            }
        }
    }
}

TEST(PublishedSolvers, answer_at_the_peak_without_recomputation_with_no_rerun) {
    const Graph graph = random_training_graph(5, {.forward_ops = 20});
    const FlatGraph flat = flatten(graph);
    const Bytes peak(cost_of(flat, keep_all_sequence(flat)).peak);
    for (const auto& solver : solvers()) {
        const Answer answer = solver->solve({graph, flat}, peak, {}, {});
        ASSERT_TRUE(std::holds_alternative<Solution>(answer)) << solver->name();
        EXPECT_LE(std::get<Solution>(answer).overhead, 1.0) << solver->name();
    }
}

TEST(PublishedSolvers, keep_every_budget_of_the_problem_files) {
    const auto problems = read_problem_files();
    if (problems.empty()) GTEST_SKIP() << kNoProblemFiles;
    const auto all = solvers();
    for (const ProblemFile& problem : problems) {
        const FlatGraph flat = flatten(problem.graph);
        for (const ProblemFile::Reference& reference : problem.references) {
            for (const auto& solver : all) {
                const Answer answer = solver->solve({problem.graph, flat}, reference.budget, {}, {});
                const std::string what = named(problem.graph, *solver, reference.budget);
                expect_valid(problem.graph, reference.budget, answer, what);
                const auto* solution = std::get_if<Solution>(&answer);
                if (solution) {
                    EXPECT_GE(solution->overhead, reference.lower_bound - 1e-6) << what;
                }
            }
        }
    }
}

/// Every run sequence that checkpointing a chain can give when stage i is op i, the loss op n and the
/// backward op of stage i op 2n - i: keep stage s for its backward op, or go ahead to a checkpoint and come
/// back, with the checkpoint still there (`present`) or made again.
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

/// Sizes and times of which no two need be equal or have a divisor.
Graph with_uneven_costs(Graph graph, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (Tensor& t : graph.tensors)
        t.bytes = Bytes(t.bytes.value * 1'000'003 + static_cast<std::int64_t>(random() % 1000));
    for (Op& op : graph.ops)
        op.time = Nanoseconds(op.time.value * 1'000 + static_cast<std::int64_t>(random() % 1000));
    return graph;
}

std::optional<std::int64_t> time_of(const Answer& answer) {
    const auto* solution = std::get_if<Solution>(&answer);
    return solution ? std::optional(solution->time.value) : std::nullopt;
}

/// On its own and from the table that all budgets share.
void expect_best_of(const std::set<RunSequence>& sequences, const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    std::map<std::int64_t, std::int64_t> least_time;  // by peak
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

/// Theorem 1 of the paper where all stages but the last are equal, on its own: the programme over (stages of
/// a part, whether it ends at the loss, memory in MiB), straight from the recurrence. A part that starts with
/// its last boundary there may drop it.
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
    std::vector<std::vector<std::int64_t>> table_[2][2];  ///< [at the loss][present], by length and memory
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
        ASSERT_TRUE(table.fill(Deadline({})));
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
        const Answer answer = make_rotor()->solve({graph, flat}, Bytes(memory * unit), {}, {});
        expect_valid(graph, Bytes(memory * unit), answer, graph.name);
        ASSERT_TRUE(time_of(answer));
        EXPECT_LE(*time_of(answer), table.least_time(0, layers - 1, memory * unit - chain.always, false));
    }
}

/// What is left out of long tables costs little, at any budget, and a table up to a budget answers as others.
TEST(Rotor, stays_within_half_a_per_cent_of_the_whole_table_where_it_tries_the_near_splits_only) {
    const Graph graph = long_chain(ChainKind::blocks, 176, 3);
    const FlatGraph flat = flatten(graph);
    const RotorChain chain = rotor_chain({graph, flat}, 176);
    const std::int64_t most = keep_all_peak(flat).value / 4;
    RotorTable whole(chain.stages, most, 100'000, RotorTable::Splits::all),
        near(chain.stages, most, 100'000, RotorTable::Splits::near),
        nearer(chain.stages, most / 3, 100'000, RotorTable::Splits::near);
    for (RotorTable* table : {&whole, &near, &nearer}) ASSERT_TRUE(table->fill(Deadline({})));
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

/// A chain of n unit ops and its backward part, which reads the incoming gradient and the forward op's input.
Graph unit_chain(int n) {
    Graph graph = random_chain(1, n);
    for (Tensor& t : graph.tensors) t.bytes = Bytes(t.bytes.value == 0 ? 0 : 1);
    for (OpId op : graph.ops.ids()) {
        Op& o = graph.ops[op];
        o.time = Nanoseconds(1);
        if (o.phase != Phase::backward) continue;
        const int stage = 2 * n - op.value;
        o.inputs = {TensorId(stage), graph.ops[OpId(op.value - 1)].outputs.front()};
    }
    return graph;
}

/// Theorem 1 of Griewank and Walther: with r the least number such that beta(c, r) = (c + r choose c) stages
/// can be reversed, r n - beta(c + 1, r - 1) stages are run forward; the last run of each, with what its
/// backward part reads, is counted there and not here.
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

/// The last run of each stage is counted among its advances too, but for the last stage's.
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

/// The theorem of section 3 of the paper: with memory of the order of sqrt(n), online eviction runs O(n) ops.
TEST(Dtr, runs_a_number_of_ops_linear_in_the_chain_with_memory_of_the_order_of_its_root) {
    for (int n : {16, 64, 144, 256, 484}) {
        const Graph graph = unit_chain(n);
        const FlatGraph flat = flatten(graph);
        const Bytes budget(2 * static_cast<std::int64_t>(std::ceil(std::sqrt(n))));
        for (DtrHeuristic heuristic : {DtrHeuristic::dtr, DtrHeuristic::dtr_eq}) {
            const Answer answer = make_dtr({.heuristic = heuristic})->solve({graph, flat}, budget, {}, {});
            ASSERT_TRUE(std::holds_alternative<Solution>(answer)) << n;
            EXPECT_LE(std::get<Solution>(answer).overhead, 1.6) << n;
        }
    }
}

/// Figures of the published simulator on the same graphs and budgets.
TEST(Dtr, gives_the_published_figures) {
    const auto problems = read_problem_files();
    if (problems.empty()) GTEST_SKIP() << kNoProblemFiles;
    const std::map<std::string, DtrHeuristic> heuristics{
        {"DTR", DtrHeuristic::dtr},        {"DTREqClass", DtrHeuristic::dtr_eq},
        {"DTRLocal", DtrHeuristic::local}, {"MSPS", DtrHeuristic::msps},
        {"LRU", DtrHeuristic::lru},        {"LargestStorage", DtrHeuristic::size}};
    int compared = 0;
    for (const ProblemFile& problem : problems) {
        const FlatGraph flat = flatten(problem.graph);
        for (const ProblemFile::Reference& reference : problem.references) {
            for (const auto& [name, heuristic] : heuristics) {
                const auto published = reference.dtr.find(name);
                if (published == reference.dtr.end()) continue;
                const Answer answer = make_dtr({.heuristic = heuristic})
                                          ->solve({problem.graph, flat}, reference.budget, {}, {});
                const auto* solution = std::get_if<Solution>(&answer);
                const std::string what =
                    problem.graph.name + " " + name + " at " + std::to_string(reference.fraction);
                ASSERT_TRUE(solution) << what;
                EXPECT_NEAR(solution->overhead, published->second, 1e-4) << what;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 300);
}

TEST(PublishedSolvers, say_why_they_found_nothing) {
    Graph graph = small_graph();
    graph.ops[OpId(1)].phase = Phase::loss;  // a single forward op is left
    for (const auto& [name, why] :
         {std::pair{"rotor", "no chain"}, {"revolve", "no chain"}, {"dtr", "left to evict"}}) {
        const Result<Outcome> outcome = solve(graph, name, nullptr, Bytes(409), {});
        ASSERT_TRUE(outcome) << outcome.error().message;
        ASSERT_TRUE(outcome->infeasible()) << name;
        EXPECT_NE(outcome->infeasible()->reason.find(why), std::string::npos)
            << outcome->infeasible()->reason;
    }
}

TEST(PublishedSolvers, stop_when_asked) {
    const Graph graph = random_training_graph(3, {.forward_ops = 300});
    const FlatGraph flat = flatten(graph);
    std::stop_source stop;
    stop.request_stop();
    const Bytes budget(cost_of(flat, keep_all_sequence(flat)).peak * 2 / 3);
    for (const auto& solver : solvers()) {
        expect_valid(graph, budget, solver->solve({graph, flat}, budget, {.stop = stop.get_token()}, {}),
                     std::string(solver->name()));
    }
}

TEST(PublishedSolverOptions, name_the_key_that_is_wrong) {
    const auto message = [](const auto& result) {
        return result ? std::string("accepted") : result.error().message;
    };
    const nlohmann::json unknown = {{"segmnts", 3}}, type = {{"segments", "3"}}, range = {{"segments", -1}};
    EXPECT_EQ(message(options_from<ChenSqrtOptions>("chen-sqrt", &unknown)),
              "chen-sqrt: unknown option 'segmnts'");
    EXPECT_EQ(message(options_from<ChenSqrtOptions>("chen-sqrt", &type)),
              "chen-sqrt: option 'segments' must be an integer");
    EXPECT_EQ(message(options_from<ChenSqrtOptions>("chen-sqrt", &range)),
              "chen-sqrt: option 'segments' must be from 0 to 1000000");
    const nlohmann::json word = {{"heuristic", "best"}}, low = {{"thrash", 0.5}},
                         list = nlohmann::json::array();
    EXPECT_EQ(message(options_from<DtrOptions>("dtr", &word)),
              "dtr: option 'heuristic' must be one of dtr-eq, dtr, local, lru, size, msps, random");
    EXPECT_NE(message(options_from<DtrOptions>("dtr", &low)).find("'thrash'"), std::string::npos);
    EXPECT_NE(message(options_from<DtrOptions>("dtr", &list)).find("object"), std::string::npos);
    const nlohmann::json slots = {{"slots", 5}};
    EXPECT_EQ(message(options_from<RotorOptions>("rotor", &slots)),
              "rotor: option 'slots' must be from 10 to 100000");
    const nlohmann::json thresholds = {{"thresholds", 0.5}};
    EXPECT_EQ(message(options_from<ChenGreedyOptions>("chen-greedy", &thresholds)),
              "chen-greedy: option 'thresholds' must be an integer");
    const nlohmann::json good = {
        {"heuristic", "msps"}, {"deallocation", "banish"}, {"thrash", 3}, {"seed", 9}};
    ASSERT_TRUE(options_from<DtrOptions>("dtr", &good));
    EXPECT_EQ(options_from<DtrOptions>("dtr", &good)->heuristic, DtrHeuristic::msps);
    EXPECT_EQ(options_from<DtrOptions>("dtr", &good)->deallocation, DtrDeallocation::banish);
    EXPECT_TRUE(options_from<DtrOptions>("dtr", nullptr));
}

}  // namespace
}  // namespace rematlas
