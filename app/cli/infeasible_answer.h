// The answer of `rematlas solve` where no schedule keeps the budget.
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

/// The arguments outlive it; `outcome` is infeasible.
class InfeasibleAnswer {
  public:
    /// `asked`: what may be copied to the host.
    InfeasibleAnswer(const Graph& graph, const FlatGraph& flat, const std::string& solver, Offload asked,
                     const Outcome& outcome);

    /// Prints the reason, the missing bytes and a budget that works to standard error, and to standard output
    /// which tensors need most.
    void print() const;
    nlohmann::json as_json() const;
    /// The reason, the missing bytes and a budget that works, a line each.
    std::vector<std::string> lines() const;

  private:
    std::string reason() const;
    /// What more copies would do, where schedules with such are not known to need too much; else empty.
    std::string help_of_copies() const;
    std::string known_to_work() const;  ///< the end of the reason
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
