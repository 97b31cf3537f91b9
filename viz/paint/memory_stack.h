// The memory of a schedule by part of the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "viz/paint/module_groups.h"

namespace rematlas {

/// One layer: the bytes of the tensors of one part of the model, of the residents or of workspaces.
struct MemoryLayer {
    enum class Kind { resident, module, workspace };
    Kind kind = Kind::module;
    std::string name;                  ///< "blocks.*.attn"
    std::vector<std::int64_t> during;  ///< bytes while a step runs, by step
};

/// The layers, bottom first: the tensors that no op makes, the parts of the model, the workspace of the op
/// that runs. Layers that are always empty are left out.
using MemoryStack = std::vector<MemoryLayer>;

/// The simulator must be able to play `steps` with these homes. At each step the layers add up to the bytes
/// that the simulator says are held (`StepTrace::during`), to the byte. Bytes that an op overwrites in place
/// count for the layer of its output. Cost: steps times layers.
MemoryStack memory_stack(const Graph& graph, const std::vector<Step>& steps, const ModuleGroups& groups,
                         const Homes& homes = {});

}  // namespace rematlas
