// The answers to all budgets of one chain, from one table.
//
//     const RotorCurve curve(name, summary, problem, rotor_chain(problem, 150), largest, 500, deadline);
//     Answer answer = curve.solve(problem, budget, limits, {});
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/solvers/rotor/rotor_chain.h"
#include "core/solvers/rotor/rotor_table.h"
#include "core/solving/solver.h"

namespace rematlas {

class RotorCurve final : public Solver {
  public:
    /// Fills the table for budgets up to `largest`, with `slots` as in `RotorTable`, less where the tables
    /// would take more than about 4 GiB. `name` and `summary` are those of the solver it answers for.
    RotorCurve(std::string_view name, std::string_view summary, const Problem& problem, RotorChain chain,
               Bytes largest, int slots, const Deadline& deadline);
    std::string_view name() const override { return name_; }
    std::string_view summary() const override { return summary_; }

    /// The time rises as memory falls, so the first sequence whose exact peak fits is the best of the table.
    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override;

  private:
    std::int64_t most_beside(Bytes budget) const;
    RunSequence runs_of(const FlatGraph& flat, std::size_t i) const;
    Bytes peak_of(const FlatGraph& flat, std::size_t i) const;

    std::string_view name_, summary_;
    std::int64_t full_;  ///< peak without reruns
    RotorChain chain_;
    RotorTable table_;
    bool filled_ = false;
    mutable std::vector<std::optional<Bytes>> peaks_;  ///< by step of the curve, as far as they were needed
};

}  // namespace rematlas
