// Checks that an answer with copies to the host is not worse than the answer without copies, nor than an
// answer at a smaller budget or over slower links. Every solve gets the same processor time of one thread.
// CSV on standard output: name,run,value,unit. A run is named "WAY% of the way from the smallest known budget
// to the peak, links, what may be copied". The last rows say, over all graphs, how many pairs of answers are
// in the wrong order, and by how much at most. Because time ends each solve, even two equal solves can give
// answers in the wrong order. The pairs "none against none" measure how often this happens.
//
//     bench_monotony [--seconds 1] [--solver atlas] GRAPH.graph.json...
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "bench/solvers/thread_time.h"
#include "core/checking/check.h"
#include "core/costs/link_profile.h"
#include "core/graph/graph_file.h"
#include "core/planning/registry.h"
#include "core/planning/solve.h"
#include "core/planning/sweep.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {
namespace {

constexpr double kWays[] = {2, 8, 25, 50, 85};  // % of the way from the smallest known budget to the peak
constexpr double kRounding = 1e-9;

struct Link {
    std::string name;
    Links links;
};

/// Returns the links, in nearly ascending order of speed. The exception is `pcie4 uncontended`, which comes
/// before the slower `pcie4`. With `pcie4`, copies of the two directions slow each other down.
std::vector<Link> all_links() {
    std::vector<Link> all;
    for (const char* name : {"pcie3", "pcie4", "pcie5", "c2c"}) all.push_back({name, *links_named(name)});
    Links alone = all[1].links;
    alone.to_host_contended_bytes_per_second = alone.to_device_contended_bytes_per_second = 0;
    all.insert(all.begin() + 1, {"pcie4 uncontended", alone});
    return all;
}

double beside(double alone, double contended) {
    return contended > 0 ? contended : alone;
}

/// Says whether `a` is at least as fast as `b` in every property that the simulator uses.
bool is_faster(const Links& a, const Links& b) {
    return a.to_host_bytes_per_second >= b.to_host_bytes_per_second &&
           a.to_device_bytes_per_second >= b.to_device_bytes_per_second &&
           beside(a.to_host_bytes_per_second, a.to_host_contended_bytes_per_second) >=
               beside(b.to_host_bytes_per_second, b.to_host_contended_bytes_per_second) &&
           beside(a.to_device_bytes_per_second, a.to_device_contended_bytes_per_second) >=
               beside(b.to_device_bytes_per_second, b.to_device_contended_bytes_per_second) &&
           a.copy_latency <= b.copy_latency;
}

struct Order {
    int pairs = 0, broken = 0;
    double most = 0;  ///< largest excess of a `better` overhead over the `worse` one

    /// Counts a pair of answers. `better` should not be worse than `worse`; otherwise the pair counts as
    /// broken. An answer without a schedule is worse than every schedule.
    void compare(const std::string& what, std::optional<double> better, std::optional<double> worse) {
        ++pairs;
        if (!worse || (better && *better <= *worse + kRounding)) return;
        ++broken;
        if (better) most = std::max(most, *better - *worse);
        std::fprintf(stderr, "%s: %s above %.5f\n", what.c_str(),
                     better ? std::to_string(*better).c_str() : "none", *worse);
    }

    void print(const char* run) const {
        std::printf("all,%s,%d,pairs\n", run, pairs);
        std::printf("all,%s,%d,broken\n", run, broken);
        std::printf("all,%s,%.5f,overhead above\n", run, most);
    }
};

class Bench {
  public:
    Bench(const Solver& solver, double seconds) : solver_(solver), processor_(seconds) {}

    void add(const Graph& graph) {
        const FlatGraph flat = flatten(graph);
        const Problem plain{graph, flat};
        const std::int64_t most = keep_all_peak(flat).value;
        const std::int64_t least = smallest_known_budget(plain, {.time = std::chrono::seconds(2)}).value;
        const std::vector<Link> links = all_links();
        using Answers = std::map<std::string, std::optional<double>>;
        Answers smaller;
        for (const double way : kWays) {
            const Bytes budget(least +
                               static_cast<std::int64_t>(way / 100 * static_cast<double>(most - least)));
            char at[32];
            std::snprintf(at, sizeof at, "%g%% ", way);
            Answers now;
            now["none"] = solved(plain, budget, std::string(at) + "none");
            noise_.compare(graph.name + " " + at + "again",
                           solved(plain, budget, std::string(at) + "none again"), now["none"]);
            for (const Offload what : {Offload::activations, Offload::all}) {
                for (std::size_t i = 0; i < links.size(); ++i) {
                    const std::string run = links[i].name + " " + std::string(to_string(what));
                    const Problem problem{graph, flat, {.what = what, .links = links[i].links}};
                    const std::string name = graph.name + " " + at + run;
                    now[run] = solved(problem, budget, at + run);
                    with_copies_.compare(name, now[run], now["none"]);
                    if (what == Offload::all)
                        more_moves_.compare(name, now[run], now[links[i].name + " activations"]);
                    for (std::size_t j = 0; j < i; ++j)
                        if (is_faster(links[i].links, links[j].links))
                            faster_links_.compare(name, now[run],
                                                  now[links[j].name + " " + std::string(to_string(what))]);
                }
            }
            for (const auto& [run, overhead] : smaller)
                larger_budgets_.compare(graph.name + " " + at + run, now[run], overhead);
            smaller = now;
        }
    }

    void print() const {
        noise_.print("none against none");
        with_copies_.print("with copies against none");
        more_moves_.print("all against activations");
        faster_links_.print("over faster links");
        larger_budgets_.print("at a larger budget");
        std::printf("all,answers,%d,answers\n", answers_);
        std::printf("all,answers,%d,refused\n", refused_);
        std::printf("all,answers,%d,without a bound\n", unbounded_);
    }

  private:
    std::optional<double> solved(const Problem& problem, Bytes budget, const std::string& run) {
        const Limits limits{.time = processor_.limit()};
        const Result<Outcome> outcome = solve(problem, solver_, budget, limits);
        processor_.note_end();
        const char* name = problem.graph.name.c_str();
        if (!outcome) {
            ++refused_;
            std::fprintf(stderr, "%s %s: %s\n", name, run.c_str(), outcome.error().message.c_str());
            return std::nullopt;
        }
        const Schedule* schedule = outcome->schedule();
        if (!schedule) {
            std::printf("%s,%s,none,overhead\n", name, run.c_str());
            return std::nullopt;
        }
        ++answers_;
        refused_ += !check(problem.graph, *schedule, budget).ok();
        unbounded_ += !schedule->bound.has_value();
        std::printf("%s,%s,%.5f,overhead\n", name, run.c_str(), schedule->overhead);
        if (schedule->bound) std::printf("%s,%s,%.5f,bound\n", name, run.c_str(), schedule->bound->overhead);
        std::fflush(stdout);
        return schedule->overhead;
    }

    const Solver& solver_;
    SharedProcessor processor_;
    int answers_ = 0, refused_ = 0, unbounded_ = 0;
    Order noise_, with_copies_, more_moves_, faster_links_, larger_budgets_;
};

}  // namespace
}  // namespace rematlas

int main(int argc, char** argv) {
    using namespace rematlas;
    double seconds = 1;
    std::string name = "atlas";
    std::vector<std::string> files;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--seconds" && i + 1 < argc)
            seconds = std::atof(argv[++i]);
        else if (argument == "--solver" && i + 1 < argc)
            name = argv[++i];
        else
            files.push_back(argument);
    }
    const Result<std::unique_ptr<Solver>> solver = make_solver(name);
    if (!solver || files.empty())
        return std::fprintf(stderr, "bench_monotony [--seconds 1] [--solver atlas] GRAPH.graph.json...\n"), 2;
    std::printf("name,run,value,unit\n");
    Bench bench(**solver, seconds);
    for (const std::string& file : files) {
        const Result<Graph> graph = read_graph(file);
        if (!graph) return std::fprintf(stderr, "%s\n", graph.error().message.c_str()), 1;
        bench.add(*graph);
    }
    bench.print();
}
