#include "core/solvers/revolve/revolve.h"

#include <algorithm>

#include "core/schedule/run_sequence.h"
#include "core/solvers/rotor/rotor_chain.h"
#include "core/solving/answers.h"
#include "core/solving/limits.h"
#include "core/solving/option_reader.h"

namespace rematlas {
namespace {

using Advances = std::vector<std::vector<std::int64_t>>;

/// Returns the number of stages before the next checkpoint. `checkpoints` must be at least 1, `stages` at
/// least 2.
int next_checkpoint(const Advances& least, int checkpoints, int stages) {
    for (int after = 1; after < stages; ++after) {
        const std::int64_t sum = after + least[checkpoints - 1][stages - after] + least[checkpoints][after];
        if (sum == least[checkpoints][stages]) return after;
    }
    return 1;
}

class Writer {
  public:
    Writer(const RotorChain& chain, const Advances& least) : chain_(chain), least_(least), runs_(chain) {}

    RunSequence write(int checkpoints) {
        reverse(0, static_cast<int>(chain_.stages.size()), checkpoints);
        return runs_.take();
    }

  private:
    /// Runs the stages first .. end - 1 forward and backward. The input of stage `first` must exist.
    void reverse(int first, int end, int checkpoints) {
        if (end - first == 1 || checkpoints == 0) {
            for (int stage = end - 1; stage >= first; --stage) {
                advance(first, stage);
                runs_.forward(stage, chain_.stages[stage].ways.front().save_last);
                runs_.backward(stage);
            }
            return;
        }
        const int middle = first + next_checkpoint(least_, checkpoints, end - first);
        advance(first, middle);
        reverse(middle, end, checkpoints - 1);
        reverse(first, middle, checkpoints);
    }

    void advance(int from, int to) {
        for (int stage = from; stage < to; ++stage) runs_.forward(stage, chain_.stages[stage].advance);
    }

    const RotorChain& chain_;
    const Advances& least_;
    ChainRuns runs_;
};

Answer solve_by_revolve(const Problem& problem, Bytes budget, const Limits& limits, const Progress& progress,
                        const RevolveOptions& options) {
    if (auto solution = optimal_without_reruns(problem.flat, budget)) return *std::move(solution);
    const Deadline deadline(limits);
    const RotorChain chain = rotor_chain(problem, options.max_stages);
    const int stages = static_cast<int>(chain.stages.size());
    std::optional<Bytes> smallest;
    if (stages < 2) return no_chain(infeasible_from(problem.flat, budget, smallest));
    const Advances least = revolve_advances(stages - 1, stages);
    // More checkpoints never take more time, so the first sequence that fits is the best.
    for (int checkpoints = stages - 1; checkpoints >= 0 && !deadline.passed(); --checkpoints) {
        const RunSequence runs = Writer(chain, least).write(checkpoints);
        const Bytes peak(cost_of(problem.flat, runs).peak);
        smallest = smallest ? std::min(*smallest, peak) : peak;
        if (peak > budget) continue;
        Solution solution = solution_from(problem.flat, runs);
        if (progress) progress({solution.overhead, solution.peak, {}, 1});
        return solution;
    }
    return infeasible_from(problem.flat, budget, smallest);
}

}  // namespace

std::vector<std::vector<std::int64_t>> revolve_advances(int checkpoints, int stages) {
    Advances least(static_cast<std::size_t>(checkpoints) + 1,
                   std::vector<std::int64_t>(static_cast<std::size_t>(stages) + 1, 0));
    for (int c = 0; c <= checkpoints; ++c) {
        for (int n = 2; n <= stages; ++n) {
            std::int64_t best = std::int64_t{n} * (n - 1) / 2;
            for (int after = 1; c > 0 && after < n; ++after)
                best = std::min(best, after + least[c - 1][n - after] + least[c][after]);
            least[c][n] = best;
        }
    }
    return least;
}

void read_options(OptionReader& reader, RevolveOptions& options) {
    reader.integer("max_stages", options.max_stages, 2, 1000);
}

std::unique_ptr<Solver> make_revolve(RevolveOptions options) {
    return std::make_unique<FunctionSolver<RevolveOptions>>(revolve_solver, solve_by_revolve, options);
}

constinit const SolverEntry revolve_solver = solver_entry<RevolveOptions, make_revolve>(
    {.name = "revolve",
     .summary = "binomial checkpointing of a chain of equal stages (Griewank and Walther 2000)"});

}  // namespace rematlas
