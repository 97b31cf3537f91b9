// Answers all budgets of one problem from one table of Rotor's dynamic program.
//
//     const RotorCurve curve(name, problem, {rotor_chain(problem, 150)}, largest, 500, deadline);
//     Answer answer = curve.solve(problem, budget, limits, {});
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/solvers/rotor/rotor_chain.h"
#include "core/solvers/rotor/rotor_table.h"
#include "core/solving/solver.h"

namespace rematlas {

/// One way to read the graph as a chain, and the table of that chain.
class RotorLevel {
  public:
    RotorLevel(const FlatGraph& flat, RotorChain chain);

    bool is_chain() const { return chain_.stages.size() >= 2; }

    /// Fills the table for budgets up to `largest`. If the deadline passes before the table is full, or if
    /// the chain has more than `RotorTable::kMostStages` stages, `best_within` finds nothing.
    void fill(Bytes largest, int slots, const Deadline& deadline);
    bool filled() const { return filled_; }

    /// Returns the best sequence within the budget. Sequences are tried from the fastest on, so the first
    /// whose exact peak fits is the best of the table. If the deadline passes, the result is the best
    /// sequence whose bytes in the table fit the budget. `smallest` is lowered to the least peak that was
    /// tried.
    std::optional<RunSequence> best_within(Bytes budget, const Deadline& deadline,
                                           std::optional<Bytes>& smallest);

  private:
    std::int64_t most_beside(Bytes budget) const;
    RunSequence runs_of(std::size_t i) const;
    Bytes peak_of(std::size_t i);

    const FlatGraph& flat_;
    RotorChain chain_;
    std::int64_t full_;  ///< peak without reruns
    std::optional<RotorTable> table_;
    bool filled_ = false;
    std::vector<std::optional<Bytes>> peaks_;  ///< by step of the curve; empty if not yet computed
};

class RotorCurve final : public Solver {
  public:
    /// Fills tables for budgets up to `largest`, one chain after the other. The last table that was filled in
    /// time answers: a short chain before a long one gives an answer even if the long one takes too much
    /// time. `slots`: see RotorTable. `name`: the name of the solver that uses the curve.
    RotorCurve(std::string_view name, const Problem& problem, std::vector<RotorChain> chains, Bytes largest,
               int slots, const Deadline& deadline);
    std::string_view name() const override { return name_; }
    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override;

  private:
    std::string_view name_;
    std::int64_t full_;  ///< peak without reruns
    /// The chain that answers, with its table: the last chain whose table was filled in time. If no table was
    /// filled, the first chain. Null if the graph is no chain.
    std::unique_ptr<RotorLevel> level_;
    bool whole_ = false;  ///< whether the table of the last chain was filled in time
};

/// A solver whose `up_to` fills a table. Its `solve` also fills a table, for one budget. The time limit
/// covers filling the table and finding the answer in it.
class CurveSolver : public Solver {
  public:
    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const final;
};

}  // namespace rematlas
