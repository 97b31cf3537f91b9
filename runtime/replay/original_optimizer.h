// The optimizer that an original is trained with, for comparison with a step whose own ops update.
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
    /// `tape.optimizer` must be present. The states take their memory at once. `on_host`: parameters, by
    /// any of their names, that are updated on the host.
    OriginalOptimizer(const Model& model, const Tape& tape, const std::set<std::string>& on_host = {});
    /// `gradients` are those of Model::trained(), in order. Afterwards they are undefined, as are those
    /// that the step's own optimizer takes.
    void update(std::vector<at::Tensor>& gradients);
    /// The states, in the order of Tape::states.
    const std::vector<at::Tensor>& states() const { return states_; }

  private:
    std::vector<std::size_t> trained_;  ///< places in Model::trained() of the updated parameters
    FusedOptimizer optimizer_;
    std::vector<at::Tensor> states_;
};

}  // namespace rematlas
