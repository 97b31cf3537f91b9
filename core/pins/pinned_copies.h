// Translates steps of the graph under pins (pinned_step.h) to steps of the original. The steps may include
// copies to the host.
#pragma once

#include <span>
#include <vector>

#include "core/pins/pinned_step.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Returns the steps for the original. The output of an op and the output of the op's copy in the graph under
/// pins are one tensor of the original. This tensor is on the device (or on the host) while at least one of
/// the two outputs is. Steps that would change nothing are left out. The returned steps hold at most as many
/// bytes as `steps`. The returned steps can be invalid: one of the two outputs may be made while the other is
/// being copied. They can also break a recompute pin, if an op that is not pinned runs again after the loss.
/// So the caller must simulate and check the result.
std::vector<Step> on_original(const PinnedStep& step, const Graph& original, std::span<const Step> steps);

}  // namespace rematlas
