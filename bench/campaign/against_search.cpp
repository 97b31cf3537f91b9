// Compares the solvers with an exhaustive search on random small graphs, seed after seed. CSV on standard
// output: name,run,value,unit.
//
//     bench_against_search SECONDS [FIRST_SEED]
//
// Each seed chooses a graph, a budget and a solver. Nothing is copied to the host. A fault is an answer that
// contradicts the search: a schedule that is faster than the optimum, "optimal" of another time than the
// optimum, a bound above the optimum, "no schedule fits" for a budget that the search keeps, or an error.
// Each fault is one line on standard error with its seed, and the exit status is 1 if there is one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "core/planning/registry.h"
#include "core/planning/request.h"
#include "core/schedule/run_sequence.h"
#include "tests/core/support/brute_force.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

constexpr double kRounding = 1e-9;  // relative error of overheads, which are doubles

Graph graph_of(std::mt19937_64& random) {
    const std::uint64_t seed = random();
    switch (random() % 4) {
        case 0:
            return random_odd_graph(seed, static_cast<int>(random() % 9));
        case 1:
            return random_chain(seed, 2 + static_cast<int>(random() % 3), random() % 2 == 0);
        default:
            return random_training_graph(seed, {.forward_ops = 2 + static_cast<int>(random() % 3),
                                                .unit = random() % 8 == 0 ? 64 : 1});
    }
}

/// The optimum of a graph under a budget, by exhaustive search.
struct Truth {
    Bytes least_peak;
    std::optional<Optimum> optimum;
};

/// Returns the contradiction between the answer and the truth; empty if there is none. The search covers all
/// schedules without copies.
std::string contradiction(const FlatGraph& flat, const Outcome& outcome, const Truth& truth) {
    if (const Infeasible* none = outcome.infeasible()) {
        if (!holds_for(none->over, ScheduleClass::any_order)) return "";
        if (none->needed > truth.least_peak) return "the needed bytes are above the least peak";
        if (none->proven && truth.optimum) return "a schedule fits";
        return "";
    }
    const Schedule& schedule = *outcome.schedule();
    if (!truth.optimum) return "no schedule fits";
    const std::int64_t optimum = truth.optimum->time;
    if (schedule.time.value < optimum) return "the schedule is faster than the optimum";
    if (!schedule.bound || !schedule.bound->over) return "";
    if (!holds_for(*schedule.bound->over, ScheduleClass::any_order)) return "";
    if (schedule.bound->overhead > flat.overhead_of(optimum) * (1 + kRounding))
        return "the bound is above the optimum";
    if (schedule.status == "optimal" && schedule.time.value != optimum) return "the schedule is not optimal";
    return "";
}

/// Counts of what was compared.
struct Counts {
    std::map<std::string, std::int64_t> by_solver;
    std::int64_t faults = 0, infeasible = 0, optimal = 0;
};

void compare(std::uint64_t seed, Counts& counts) {
    std::mt19937_64 random(seed);
    const Graph graph = graph_of(random);
    const FlatGraph flat = flatten(graph);
    const std::int64_t least = brute_force_least_peak(flat),
                       most = cost_of(flat, keep_all_sequence(flat)).peak;
    const auto above = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 3));
    const Bytes budget(std::max<std::int64_t>(1, least - 1 + above));
    const Truth truth{Bytes(least), brute_force(flat, budget.value)};
    const auto solvers = all_solvers();
    const SolveRequest request{.solver = std::string(solvers[random() % solvers.size()]->traits.name),
                               .budget = budget,
                               .limits = {.time = std::chrono::milliseconds(300), .seed = seed}};
    const Result<Outcome> outcome = solve(graph, request);
    const std::string fault = outcome ? contradiction(flat, *outcome, truth) : outcome.error().message;
    ++counts.by_solver[request.solver];
    if (outcome) {
        counts.infeasible += outcome->infeasible() != nullptr;
        counts.optimal += outcome->schedule() && outcome->schedule()->status == "optimal";
    }
    if (fault.empty()) return;
    ++counts.faults;
    std::fprintf(stderr, "seed %llu: %s at %lld bytes: %s\n", static_cast<unsigned long long>(seed),
                 request.solver.c_str(), static_cast<long long>(budget.value), fault.c_str());
}

void print(const std::string& name, std::int64_t value, const char* unit) {
    std::printf("%s,1,%lld,%s\n", name.c_str(), static_cast<long long>(value), unit);
}

int run(double seconds, std::uint64_t first) {
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    Counts counts;
    std::uint64_t seed = first;
    while (passed() < seconds) compare(seed++, counts);
    std::printf("name,run,value,unit\n");
    print("problems", static_cast<std::int64_t>(seed - first), "");
    print("faults", counts.faults, "");
    print("optimal", counts.optimal, "");
    print("infeasible", counts.infeasible, "");
    for (const auto& [solver, count] : counts.by_solver) print("problems of " + solver, count, "");
    print("time", static_cast<std::int64_t>(passed()), "seconds");
    return counts.faults > 0;
}

}  // namespace
}  // namespace rematlas

int main(int count, char** words) {
    if (count < 2) {
        std::fprintf(stderr, "usage: %s SECONDS [FIRST_SEED]\n", words[0]);
        return 2;
    }
    return rematlas::run(std::atof(words[1]), count > 2 ? std::strtoull(words[2], nullptr, 10) : 1);
}
