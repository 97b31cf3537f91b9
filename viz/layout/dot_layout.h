// The ladder drawn by Graphviz's `dot`. Only the worker program links this.
#pragma once

#include "core/base/result.h"
#include "viz/layout/layout.h"

namespace rematlas {

/// Plain `dot` does not end on a graph of a forward and a backward pass, since the edge of each saved tensor
/// spans the whole graph. So `dot` gets the backward chain with its edges reversed, and a rung may join two
/// items of one rank: an op and its gradient then stand side by side. The function is not safe to call from
/// two threads. It may abort the process or never return: see `layout_in_worker`.
Result<Layout> layout_by_dot(const LayoutRequest& request);

/// Loads the parts of Graphviz that the first layout needs, so that it takes no longer than later ones.
void load_dot();

}  // namespace rematlas
