// Gradients that parameters get in a backward from elsewhere than from the module: by a penalty in the loss, say.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace rematlas {

inline constexpr const char* casts_are_shared =
    "forwards share casts of weights in one autocast region: use one region for each forward, or "
    "cache_enabled=False";

/// Within a node of a backward that runs: some node that is none of ours leads to one of the parameters too. Cost: the nodes
/// and edges of the caller's graph.
bool get_gradients_from_outside(const std::vector<at::Tensor>& parameters);

/// Within a node of ours that hands out gradients which are sums: some node that came into the caller's graph
/// later leads to one of the parameters too, also one of ours, of another forward. The backward reaches it
/// before the module, whose terms it would add one by one without us. What came earlier is added to the whole
/// sum in any case. Cost: as above.
bool get_gradients_before_this_sum(const std::vector<at::Tensor>& parameters);

/// Within a node of a backward that runs: some cast of one of the parameters that is none of ours leads there too. In a
/// region of autocast it may be the cast that the module's own forward would have read. Cost: as above.
bool get_gradients_by_casts_from_outside(const std::vector<at::Tensor>& parameters);

inline constexpr const char* summed_otherwise =
    "a parameter that the module uses several times gets gradients from outside of it as well (a penalty in "
    "the loss, say): they would be summed in another order";

}  // namespace rematlas
