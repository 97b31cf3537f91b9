#include "core/solvers/rotor/rotor.h"

#include <algorithm>

#include "core/schedule/run_sequence.h"
#include "core/solvers/rotor/rotor_chain.h"
#include "core/solvers/rotor/rotor_table.h"
#include "core/solving/answers.h"
#include "core/solving/limits.h"
#include "core/solving/option_reader.h"

namespace rematlas {
namespace {

constexpr std::string_view kName = "rotor";
constexpr std::string_view kSummary =
    "optimal checkpointing of a chain of stages (Beaumont et al. 2019); falls back where there is no chain";

/// Follows the table's choices and writes the runs.
class RotorWriter {
  public:
    RotorWriter(const RotorChain& chain, const RotorTable& table)
        : chain_(chain), table_(table), runs_(chain) {}

    RunSequence write(std::int64_t bytes) {
        group_range(0, table_.last(), bytes, false);
        return runs_.take();
    }

  private:
    /// Recursion is as deep as the chain is long.
    void group_range(int s, int t, std::int64_t m, bool present) {
        present = present && !table_.dropped(s, t, m);
        const RotorStage& stage = chain_.stages[s];
        if (s == t) {
            runs_.forward(s, present ? stage.save_beside : stage.save_last);
            runs_.backward(s);
            return;
        }
        const int next = table_.choice(s, t, m, present);
        if (next < 0) {
            runs_.forward(s, stage.save);
            group_range(s + 1, t, m - chain_.stages[s].saved, present);
            runs_.backward(s);
            return;
        }
        for (int i = s; i < next; ++i) runs_.forward(i, chain_.stages[i].advance);
        group_range(next, t, m - chain_.stages[next - 1].boundary, present);
        group_range(s, next - 1, m, true);
    }

    const RotorChain& chain_;
    const RotorTable& table_;
    ChainRuns runs_;
};

/// A reading of the graph as a chain, and its table.
class RotorLevel {
  public:
    RotorLevel(const Problem& problem, int max_stages, std::int64_t full)
        : flat_(problem.flat), chain_(rotor_chain(problem, max_stages)), full_(full) {}

    bool is_chain() const { return chain_.stages.size() >= 2; }
    std::size_t stages() const { return chain_.stages.size(); }

    /// For budgets up to `largest`. Nothing is found where the deadline passed before it was full.
    void fill(Bytes largest, int slots, const Deadline& deadline) {
        table_.emplace(chain_.stages, most_beside(largest), slots);
        if (!table_->fill(deadline)) return;
        filled_ = true;
        peaks_.resize(table_->curve().size());
    }
    bool filled() const { return filled_; }

    /// The time rises as memory falls, so the first sequence whose exact peak fits is the best of the table.
    /// `smallest` is lowered to the least peak that was tried.
    std::optional<RunSequence> best_within(Bytes budget, const Deadline& deadline,
                                           std::optional<Bytes>& smallest) {
        for (std::size_t i = peaks_.size(); i-- > 0 && !deadline.passed();) {
            if (table_->curve()[i].bytes > most_beside(budget)) continue;
            const Bytes peak = peak_of(i);
            if (!smallest || peak < *smallest) smallest = peak;
            if (peak <= budget) return runs_of(i);
        }
        return std::nullopt;
    }

  private:
    /// Beside what is always there. Memory is tried up to a little above what the budget leaves, because what
    /// the chain does not see leaves some unused.
    std::int64_t most_beside(Bytes budget) const {
        const std::int64_t available = std::max<std::int64_t>(budget.value - chain_.always, 1);
        const std::int64_t above = std::min(available * 2, available + available / 8 + chain_.always);
        return std::max(std::min(above, full_), available);
    }

    RunSequence runs_of(std::size_t i) const {
        return RotorWriter(chain_, *table_).write(table_->curve()[i].bytes);
    }

    Bytes peak_of(std::size_t i) {
        if (!peaks_[i]) peaks_[i] = Bytes(cost_of(flat_, runs_of(i)).peak);
        return *peaks_[i];
    }

    const FlatGraph& flat_;
    RotorChain chain_;
    std::int64_t full_;  ///< peak without reruns
    std::optional<RotorTable> table_;
    bool filled_ = false;
    std::vector<std::optional<Bytes>> peaks_;  ///< by step of the curve, as far as they were needed
};

/// The answers to all budgets of one problem, up to the one that the tables were filled for. Long chains are
/// first read with neighbours merged, so that there are answers when the time ends the second, long table.
class RotorCurve final : public Solver {
  public:
    RotorCurve(const Problem& problem, Bytes largest, const Deadline& deadline, const RotorOptions& options)
        : full_(cost_of(problem.flat, required_once(problem.flat)).peak),
          whole_(std::make_unique<RotorLevel>(problem, options.max_stages, full_)) {
        if (!whole_->is_chain()) return;
        if (whole_->stages() > kLong) {
            merged_ = std::make_unique<RotorLevel>(problem, kMerged, full_);
            if (merged_->is_chain()) merged_->fill(largest, options.slots, deadline);
        }
        whole_->fill(largest, options.slots, deadline);
        if (whole_->filled()) merged_.reset();
    }
    std::string_view name() const override { return kName; }
    std::string_view summary() const override { return kSummary; }

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        const Deadline deadline(limits);
        if (auto solution = optimal_without_reruns(problem.flat, budget)) return *solution;
        if (!whole_->is_chain()) return no_chain(infeasible_from(problem.flat, budget, Bytes(full_)));
        std::optional<Bytes> smallest;
        RotorLevel& level = merged_ ? *merged_ : *whole_;
        // What is left of the limits may be nothing where the time ended the long table.
        const Deadline unlimited({.time = kToWriteRuns, .stop = limits.stop});
        if (auto runs = level.best_within(budget, merged_ ? unlimited : deadline, smallest)) {
            Solution solution = solution_from(problem.flat, *runs);
            if (progress)
                progress(
                    {.overhead = solution.overhead, .peak = solution.peak, .bound = {}, .fraction_done = 1});
            return solution;
        }
        Infeasible answer = infeasible_from(problem.flat, budget, smallest);
        if (!whole_->filled()) answer.reason = "it was stopped before the table of its chain was full";
        return answer;
    }

  private:
    static constexpr std::size_t kLong = 150;
    static constexpr int kMerged = 64;
    static constexpr auto kToWriteRuns = std::chrono::milliseconds(500);

    std::int64_t full_;  ///< peak without reruns
    std::unique_ptr<RotorLevel> whole_, merged_;
};

class Rotor final : public Solver {
  public:
    explicit Rotor(RotorOptions options) : options_(options) {}
    std::string_view name() const override { return kName; }
    std::string_view summary() const override { return kSummary; }

    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        const Deadline deadline(limits);
        if (auto solution = optimal_without_reruns(problem.flat, budget)) return *solution;
        const RotorCurve curve(problem, budget, deadline, options_);
        Limits left = limits;
        left.time = deadline.left();
        return curve.solve(problem, budget, left, progress);
    }

    std::unique_ptr<Solver> up_to(const Problem& problem, Bytes largest,
                                  const Limits& limits) const override {
        return std::make_unique<RotorCurve>(problem, largest, Deadline(limits), options_);
    }

  private:
    RotorOptions options_;
};

}  // namespace

void read_options(OptionReader& reader, RotorOptions& options) {
    reader.integer("slots", options.slots, 10, 100000);
    reader.integer("max_stages", options.max_stages, 2, 1000);
}

std::unique_ptr<Solver> make_rotor(RotorOptions options) {
    return std::make_unique<Rotor>(options);
}

constinit const SolverEntry rotor_solver =
    solver_entry<RotorOptions, make_rotor>({.name = "rotor", .compared = true});

}  // namespace rematlas
