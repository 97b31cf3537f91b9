// Says whether tensors get gradients in a backward not only from the module but also from elsewhere, for
// example from a penalty in the loss.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <vector>

namespace rematlas {

inline constexpr const char* casts_are_shared =
    "forwards share casts of weights in one autocast region: use one region for each forward, or "
    "cache_enabled=False";

/// Returns the edges to those of the tensors that need a gradient.
torch::autograd::edge_list edges_to(const std::vector<at::Tensor>& tensors);

/// Says whether a node that is not of Rematlas also leads to one of the parameters. Must be called within a
/// node of a running backward. Cost: linear in the nodes and edges of the caller's graph.
bool get_gradients_from_outside(const std::vector<at::Tensor>& parameters);

/// Says whether another node, which was added to the caller's graph after the module, also leads to one of
/// the ends: edges to parameters or inputs that the module uses several times. This can be a node of Rematlas
/// that belongs to another forward. The backward runs the other node before the module. Without Rematlas,
/// autograd would then add each term of the module's gradient to the gradient from that node, in another
/// order than the plan, which first sums the module's terms. (If the other node was added before the module,
/// the order is the same.) Must be called within a node of Rematlas. Cost: linear in the nodes and edges of
/// the caller's graph.
bool get_gradients_before_this_sum(const torch::autograd::edge_list& ends);

/// Says whether a cast in the caller's graph also leads to one of the parameters. In a region of autocast
/// this may be the cached cast that the module's own forward would have read. Must be called within a node of
/// a running backward. Cost: linear in the nodes and edges of the caller's graph.
bool get_gradients_by_casts_from_outside(const std::vector<at::Tensor>& parameters);

inline constexpr const char* input_summed_otherwise =
    "an input that the module uses several times is used outside of it after the module as well: its "
    "gradients would be summed in another order";

inline constexpr const char* summed_otherwise =
    "a parameter that the module uses several times gets gradients from outside of it as well (a penalty in "
    "the loss, say): they would be summed in another order";

}  // namespace rematlas
