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

/// The arguments must outlive the object that gets them. `outcome` must be infeasible.
class InfeasibleAnswer {
  public:
    /// `asked` says which tensors may be copied to the host.
    InfeasibleAnswer(const Graph& graph, const FlatGraph& flat, const std::string& solver, Offload asked,
                     const Outcome& outcome);

    /// Prints `lines` to standard error, and the tensors that need the most bytes to standard output.
    void print() const;
    nlohmann::json as_json() const;
    /// Returns a line with the reason, the missing bytes and a budget that works, as far as they are known.
    /// Lines on the effect of pins and of copies follow if there is an effect.
    std::vector<std::string> lines() const;

  private:
    std::string reason() const;
    /// Returns a line on the effect of more copies; empty if no more copies are possible or they would not
    /// help.
    std::string help_of_copies() const;
    std::string known_to_work() const;  ///< the end of the reason: a budget that is known to work
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
