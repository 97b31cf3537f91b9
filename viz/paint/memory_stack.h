// The memory of a schedule, divided by part of the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "viz/paint/module_groups.h"

namespace rematlas {

/// One layer: the memory of one part of the model.
struct MemoryLayer {
    enum class Kind { resident, module, workspace };
    Kind kind = Kind::module;
    std::string name = {};                  ///< "blocks.*.attn"
    std::vector<std::int64_t> during = {};  ///< for each step: bytes of the layer while the step runs
};

/// The layers from the bottom: residents, the parts of the model, and the workspace of the running op. Layers
/// that are always empty are left out.
using MemoryStack = std::vector<MemoryLayer>;

/// Returns the layer at a height above the bottom of the stack, while a step runs; -1 if the height is above
/// all layers.
int layer_at(const MemoryStack& stack, int step, Bytes height);

/// Returns the layers of a schedule. The simulator must accept `steps` with `homes`. At each step the bytes
/// of the layers add up to exactly the simulator's `StepTrace::during`. If an op writes over its input, the
/// shared bytes count for the output. Cost: steps times layers.
MemoryStack memory_stack(const Graph& graph, const std::vector<Step>& steps, const ModuleGroups& groups,
                         const Homes& homes = {});

}  // namespace rematlas
