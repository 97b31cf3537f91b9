// The answer of `rematlas solve` if no schedule keeps the budget.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/sizes.h"
#include "core/graph/graph.h"
#include "core/planning/solve.h"
#include "core/solving/copies.h"

namespace rematlas {

class InfeasibleAnswer {
  public:
    /// `asked` says which tensors may be copied to the host. `outcome` must be infeasible. The arguments that
    /// are references must outlive this object.
    InfeasibleAnswer(const Graph& graph, const FlatGraph& flat, const std::string& solver, Offload asked,
                     const Outcome& outcome);

    /// Prints the result of `lines` to standard error. Prints the op that needs the most memory and its
    /// largest tensors to standard output.
    void print() const;
    nlohmann::json as_json() const;
    /// Returns the lines of the answer. The first line has the reason and, if known, the missing bytes and a
    /// budget that works. If known, a second line has the smallest budgets with and without the pins. The
    /// last line is that of `help_of_copies`, if it is not empty.
    std::vector<std::string> lines() const;

  private:
    std::string reason() const;
    /// Returns a line on the effect of more copies; empty if no more copies are possible or they would not
    /// help.
    std::string help_of_copies() const;
    std::string known_to_work() const;  ///< last part of the reason: a budget that is known to work
    nlohmann::json dominant_json() const;
    nlohmann::json known_to_work_json() const;

    const Graph& graph_;
    const FlatGraph& flat_;
    Offload asked_;
    const std::string& solver_;
    const Outcome& outcome_;
    const Infeasible& answer_;
    StepBytes step_;
    std::optional<Bytes>
        enough_;  ///< a budget that is known to work: the peak of a schedule that obeys the pins
};

}  // namespace rematlas
