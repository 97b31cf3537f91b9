// An optimizer for a training loop: one fused op updates all parameters of one dtype.
//
//     FusedOptimizer optimizer(*Optimizer::from("adamw"), parameters);
//     optimizer.step(gradients);       // one gradient per parameter, in order; undefined ones are skipped
//
// The updates give the same bits as torch.optim with `fused=True`.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/model/optimizer.h"

namespace rematlas {

class FusedOptimizer {
  public:
    /// Allocates the states of all parameters.
    FusedOptimizer(const Optimizer& optimizer, std::vector<at::Tensor> parameters);
    /// From now on the CPU's kernel updates this parameter. If the tensors are on another device, the kernel
    /// works on copies, and the results are copied back.
    void update_on_host(std::size_t parameter) { on_host_[parameter] = true; }
    /// `gradients`: one per parameter, in the order of the parameters; undefined gradients are skipped.
    /// Throws the exceptions of the op.
    void step(const std::vector<at::Tensor>& gradients);
    /// Returns the states of one parameter, in the order of Optimizer::states.
    const std::vector<at::Tensor>& states(std::size_t parameter) const { return states_[parameter]; }

    const at::Tensor& lr() const { return lr_; }

  private:
    void update(const std::vector<std::size_t>& group, const std::vector<at::Tensor>& gradients);

    Optimizer optimizer_;
    std::vector<OptimizerState> kept_;
    std::vector<at::Tensor> parameters_;
    std::vector<std::vector<at::Tensor>> states_;
    std::vector<bool> begun_;    ///< whether the parameter has been updated before
    std::vector<bool> on_host_;  ///< whether the parameter is updated on the host
    at::Tensor lr_;
};

}  // namespace rematlas
