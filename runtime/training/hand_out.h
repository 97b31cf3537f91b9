// The nodes of autograd that hand out the gradients of a module.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <memory>
#include <vector>

namespace rematlas {

/// Gradients that a chain of nodes passes on: for each parameter, then for each input, a list of terms.
using GradientTerms = std::vector<std::vector<at::Tensor>>;

/// Makes a chain of nodes that pass gradients on, and returns the edge to its first node. The gradients of
/// the parameters come first, from the last parameter to the first as in a plain backward. So code that waits
/// for gradients (DistributedDataParallel) gets them in about the order of plain training. The gradients of
/// the inputs follow. The caller must fill `gradients`, which has room for the terms, before the chain runs.
torch::autograd::Edge hand_out(const std::shared_ptr<GradientTerms>& gradients,
                               const std::vector<at::Tensor>& parameters,
                               const torch::autograd::edge_list& inputs, const at::Tensor& link);

}  // namespace rematlas
