// Steps of the graph under pins (pinned_step.h), with copies to the host, as steps of the original.
#pragma once

#include <span>
#include <vector>

#include "core/pins/pinned_step.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// What an op and its copy in the graph under pins make is one tensor of the original: it is there while either is, on
/// the device and on the host, and a step that would change nothing is left out. The bytes are at most those of
/// `steps`. The result may be impossible, where one of the two is on its way while the other is made, and may break a
/// recompute pin, where an op that is not pinned runs again after the loss: who calls has it played and checked.
std::vector<Step> on_original(const PinnedStep& step, const Graph& original, std::span<const Step> steps);

}  // namespace rematlas
