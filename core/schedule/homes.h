// Helpers for the homes of residents: the places where residents are between training steps.
#pragma once

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Checks the homes. Errors: a tensor does not exist, is named twice, or does not belong in its list.
Result<void> sound_homes(const Graph& graph, const Homes& homes);

/// Returns for each tensor whether it is on the device when the training step starts.
IdVector<TensorId, char> on_device_at_start(const Graph& graph, const Homes& homes = {});

/// Returns the bytes of the residents that are on the device from the start to the end of the training step.
Bytes always_on_device(const Graph& graph, const std::vector<Step>& steps, const Homes& homes = {});

/// Returns the bytes of the residents that are on the device when the training step starts.
Bytes residents_on_device(const Graph& graph, const Homes& homes);

}  // namespace rematlas
