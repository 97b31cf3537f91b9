// Draws the ladder by Graphviz's `dot`. Only the worker program links this file.
#pragma once

#include "core/base/result.h"
#include "viz/layout/layout.h"

namespace rematlas {

/// Lays out a request. Plain `dot` does not end on a graph with a forward and a backward pass, because the
/// edges of saved tensors span the whole graph. So `dot` gets the edges of the backward chain reversed. An
/// edge of role `rung` may join two items of the same rank: then an op and its gradient are side by side. The
/// function must not be called from two threads at once. It may abort the process or never return; see
/// `layout_in_worker`.
Result<Layout> layout_by_dot(const LayoutRequest& request);

/// Loads the parts of Graphviz that the first layout needs, so that the first layout takes no longer than
/// later ones.
void load_dot();

}  // namespace rematlas
