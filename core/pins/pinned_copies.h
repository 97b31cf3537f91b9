// Translates steps of the graph under pins (the graph that pinned_step.h makes) to steps of the original
// graph. The steps may include copies to the host.
#pragma once

#include <span>
#include <vector>

#include "core/pins/pinned_step.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Returns the steps for the original graph. In the graph under pins, an op may have a second version that
/// runs after the loss. The outputs of the two versions stand for one tensor of the original. That tensor is
/// on the device while at least one of the two outputs is there; the same holds for the host. Steps that
/// would change nothing are left out. The returned steps hold at most as many bytes as `steps`. They can be
/// invalid, because one of the two outputs may be made while the other is being copied to or from the host.
/// They can also break a recompute pin, if an op that is not pinned runs again after the loss. So the caller
/// must simulate and check the result.
std::vector<Step> on_original(const PinnedStep& step, const Graph& original, std::span<const Step> steps);

}  // namespace rematlas
