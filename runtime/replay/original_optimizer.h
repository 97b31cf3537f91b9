// Runs the original's optimizer, for comparison with a step whose own ops update the parameters.
//
//     OriginalOptimizer optimizer(model, tape);
//     optimizer.update(result.gradients);
//     identical(optimizer.states(), executor.states());
#pragma once

#include <ATen/core/Tensor.h>

#include <set>
#include <string>
#include <vector>

#include "runtime/model/fused_optimizer.h"
#include "runtime/model/model.h"
#include "runtime/replay/tape.h"

namespace rematlas {

class OriginalOptimizer {
  public:
    /// `tape.optimizer` must be present. Allocates the states. `on_host`: names of the parameters that are
    /// updated on the host.
    OriginalOptimizer(const Model& model, const Tape& tape, const std::set<std::string>& on_host = {});
    /// Updates the parameters. `gradients` are the gradients of Model::trained(), in order. Afterwards they
    /// are undefined, because a step with its own optimizer returns no gradients either.
    void update(std::vector<at::Tensor>& gradients);
    /// Returns the states, in the order of Tape::states.
    const std::vector<at::Tensor>& states() const { return states_; }

  private:
    std::vector<std::size_t> trained_;  ///< positions in Model::trained() of the updated parameters
    FusedOptimizer optimizer_;
    std::vector<at::Tensor> states_;
};

}  // namespace rematlas
