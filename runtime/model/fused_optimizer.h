// An optimizer as a training loop has it: all parameters of a type are updated by one fused op.
//
//     FusedOptimizer optimizer(*Optimizer::from("adamw"), parameters);
//     optimizer.step(gradients);       // of the parameters, in order; undefined ones are left out
//
// The same bits as torch.optim with `fused=True`.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/model/optimizer.h"

namespace rematlas {

class FusedOptimizer {
  public:
    /// Takes the memory of its states at once, of all parameters.
    FusedOptimizer(const Optimizer& optimizer, std::vector<at::Tensor> parameters);
    /// From now on the parameter is updated by the CPU's kernel, on copies of what it reads, wherever it lies.
    void update_on_host(std::size_t parameter) { on_host_[parameter] = true; }
    /// Throws what the op throws.
    void step(const std::vector<at::Tensor>& gradients);
    /// Of one parameter, in the order of Optimizer::states.
    const std::vector<at::Tensor>& states(std::size_t parameter) const { return states_[parameter]; }

    const at::Tensor& lr() const { return lr_; }

  private:
    void update(const std::vector<std::size_t>& group, const std::vector<at::Tensor>& gradients);

    Optimizer optimizer_;
    std::vector<OptimizerState> kept_;
    std::vector<at::Tensor> parameters_;
    std::vector<std::vector<at::Tensor>> states_;
    std::vector<bool> begun_;    ///< the parameter has been updated before
    std::vector<bool> on_host_;  ///< it is updated there
    at::Tensor lr_;
};

}  // namespace rematlas
