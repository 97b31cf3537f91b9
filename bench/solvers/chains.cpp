// Bench of rotor and atlas on long chains: the cost of rotor's table, which serves all budgets, and the
// solvers' answers at single budgets. CSV on standard output: name,run,value,unit.
//
//     bench_chains [LAYERS...]               rotor
//     bench_chains atlas SECONDS [LAYERS...] atlas at tight budgets, against rotor
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/solvers/thread_time.h"
#include "core/schedule/run_sequence.h"
#include "core/solvers/atlas/atlas.h"
#include "core/solvers/rotor/rotor.h"
#include "core/solving/answers.h"
#include "tests/core/support/long_chain.h"

namespace rematlas {
namespace {

constexpr double kShares[] = {0, 0.01, 0.03, 0.1, 0.3, 0.6};  // positions of the budgets between the smallest
                                                              // budget (0) and the peak without reruns (1)

/// Returns the peak of the process's resident memory so far, in bytes.
double resident_bytes() {
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_maxrss) * 1024;
}

void print(const Graph& graph, const std::string& run, double value, const char* unit) {
    std::printf("%s,%s,%.9g,%s\n", graph.name.c_str(), run.c_str(), value, unit);
    std::fflush(stdout);
}

const Limits kLong{.time = std::chrono::seconds(1000)};

struct BenchBudget {
    double share;
    Bytes bytes;
    std::string name() const {
        char text[32];
        std::snprintf(text, sizeof text, "%.2f", share);
        return text;
    }
};

/// Returns budgets between the smallest one for which rotor finds a schedule and the peak without reruns.
std::vector<BenchBudget> bench_budgets(const Problem& problem, const Solver& curve) {
    const Answer none = curve.solve(problem, least_peak(problem.flat).bytes, kLong, {});
    const auto* infeasible = std::get_if<Infeasible>(&none);
    const std::int64_t least = infeasible && infeasible->smallest_found
                                   ? infeasible->smallest_found->value
                                   : least_peak(problem.flat).bytes.value;
    std::vector<BenchBudget> budgets;
    for (const double share : kShares) {
        const double range = static_cast<double>(keep_all_peak(problem.flat).value - least);
        budgets.push_back({share, Bytes(least + static_cast<std::int64_t>(share * range))});
    }
    return budgets;
}

double overhead_of(const Answer& answer) {
    const auto* solution = std::get_if<Solution>(&answer);
    return solution ? solution->overhead : 0;
}

void bench_rotor(const Graph& graph) {
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    const auto rotor = make_rotor();
    const double start = cpu_seconds();
    const auto curve = rotor->up_to(problem, keep_all_peak(flat), kLong);
    print(graph, "table", cpu_seconds() - start, "s");
    const double before = cpu_seconds();
    const std::vector<BenchBudget> budgets = bench_budgets(problem, *curve);
    print(graph, "smallest", cpu_seconds() - before, "s");
    for (const BenchBudget& budget : budgets) {
        const double shared = cpu_seconds();
        print(graph, "shared " + budget.name(), overhead_of(curve->solve(problem, budget.bytes, kLong, {})),
              "overhead");
        print(graph, "shared " + budget.name(), cpu_seconds() - shared, "s");
        const double alone = cpu_seconds();
        print(graph, "alone " + budget.name(), overhead_of(rotor->solve(problem, budget.bytes, kLong, {})),
              "overhead");
        print(graph, "alone " + budget.name(), cpu_seconds() - alone, "s");
    }
    print(graph, "most held so far", resident_bytes(), "bytes");
}

void bench_atlas(const Graph& graph, double seconds) {
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    const auto curve = make_rotor()->up_to(problem, keep_all_peak(flat), kLong);
    const Limits limits{.time = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9))};
    for (const BenchBudget& budget : bench_budgets(problem, *curve)) {
        if (budget.share > 0.1) continue;
        const double rotor = overhead_of(curve->solve(problem, budget.bytes, kLong, {}));
        const double atlas = overhead_of(make_atlas()->solve(problem, budget.bytes, limits, {}));
        print(graph, "atlas " + budget.name(), atlas, "overhead");
        print(graph, "atlas " + budget.name(), rotor > 0 ? atlas / rotor : 0, "of_rotor");
    }
}

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    using rematlas::ChainKind;
    const bool atlas = argc > 2 && std::strcmp(argv[1], "atlas") == 0;
    std::vector<int> lengths;
    for (int i = atlas ? 3 : 1; i < argc; ++i) lengths.push_back(std::atoi(argv[i]));
    if (lengths.empty()) lengths = {64, 128, 256, 512};
    std::printf("name,run,value,unit\n");
    for (const int layers : lengths) {
        for (const ChainKind kind : {ChainKind::equal, ChainKind::blocks, ChainKind::uneven}) {
            const rematlas::Graph graph = rematlas::long_chain(kind, layers);
            if (atlas)
                rematlas::bench_atlas(graph, std::atof(argv[2]));
            else
                rematlas::bench_rotor(graph);
        }
    }
}
