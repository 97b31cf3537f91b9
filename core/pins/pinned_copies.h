// Translates steps of the graph under pins (pinned_step.h), with copies to the host, to steps of the
// original.
#pragma once

#include <span>
#include <vector>

#include "core/pins/pinned_step.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// The output of an op and that of the op's copy in the graph under pins are one tensor of the original.
/// This tensor is there, on the device or on the host, while either of the two is. A step that would change
/// nothing is left out. The bytes held are at most those of `steps`. The result may be impossible, where one
/// of the two is on its way while the other is made. It may break a recompute pin, where an op that is not
/// pinned runs again after the loss. So the caller has the result played and checked.
std::vector<Step> on_original(const PinnedStep& step, const Graph& original, std::span<const Step> steps);

}  // namespace rematlas
