// Helpers for the homes of residents: where they are between steps.
#pragma once

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Checks the homes. Errors: a tensor does not exist, is named twice, or does not belong in its list.
Result<void> sound_homes(const Graph& graph, const Homes& homes);

/// Returns, by tensor, whether it is on the device when the step starts.
IdVector<TensorId, char> on_device_at_start(const Graph& graph, const Homes& homes = {});

/// Returns the bytes of the residents that are on the device from the start of the step to its end.
Bytes always_on_device(const Graph& graph, const std::vector<Step>& steps, const Homes& homes = {});

/// Returns the bytes of the residents that are on the device when the step starts.
Bytes residents_on_device(const Graph& graph, const Homes& homes);

}  // namespace rematlas
