// Where residents are between steps.
#pragma once

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Errors: a tensor that does not exist, is named twice, or does not belong in its list.
Result<void> sound_homes(const Graph& graph, const Homes& homes);

/// By tensor: whether it is on the device when the step starts.
IdVector<TensorId, char> on_device_at_start(const Graph& graph, const Homes& homes = {});

/// Bytes of residents that are on the device from the beginning of the step to its end.
Bytes always_on_device(const Graph& graph, const std::vector<Step>& steps, const Homes& homes = {});

/// The bytes of the residents that are on the device when the step starts.
Bytes residents_on_device(const Graph& graph, const Homes& homes);

}  // namespace rematlas
