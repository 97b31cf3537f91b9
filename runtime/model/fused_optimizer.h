// An optimizer as in a training loop: one fused op updates all parameters of a type.
//
//     FusedOptimizer optimizer(*Optimizer::from("adamw"), parameters);
//     optimizer.step(gradients);       // of the parameters, in order; undefined ones are left out
//
// The updates give the same bits as torch.optim with `fused=True`.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/model/optimizer.h"

namespace rematlas {

class FusedOptimizer {
  public:
    /// Takes the memory of the states of all parameters at once.
    FusedOptimizer(const Optimizer& optimizer, std::vector<at::Tensor> parameters);
    /// From now on the CPU's kernel updates the parameter, on copies of the tensors that it reads, wherever
    /// the parameter lies.
    void update_on_host(std::size_t parameter) { on_host_[parameter] = true; }
    /// `gradients`: those of the parameters, in order; undefined ones are left out. Throws the exceptions
    /// of the op.
    void step(const std::vector<at::Tensor>& gradients);
    /// The states of one parameter, in the order of Optimizer::states.
    const std::vector<at::Tensor>& states(std::size_t parameter) const { return states_[parameter]; }

    const at::Tensor& lr() const { return lr_; }

  private:
    void update(const std::vector<std::size_t>& group, const std::vector<at::Tensor>& gradients);

    Optimizer optimizer_;
    std::vector<OptimizerState> kept_;
    std::vector<at::Tensor> parameters_;
    std::vector<std::vector<at::Tensor>> states_;
    std::vector<bool> begun_;    ///< the parameter has been updated before
    std::vector<bool> on_host_;  ///< the parameter is updated on the host
    at::Tensor lr_;
};

}  // namespace rematlas
