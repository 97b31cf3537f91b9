// The memory of a schedule, told apart by part of the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "viz/paint/module_groups.h"

namespace rematlas {

/// One layer: what tensors of one part of the model take.
struct MemoryLayer {
    enum class Kind { resident, module, workspace };
    Kind kind = Kind::module;
    std::string name = {};                  ///< "blocks.*.attn"
    std::vector<std::int64_t> during = {};  ///< bytes while a step runs, by step
};

/// Bottom first: what is there for the whole step, the parts of the model, the workspace of the op that runs.
/// Layers that are always empty are left out.
using MemoryStack = std::vector<MemoryLayer>;

/// The layer in which a height above the bottom lies while a step runs; -1: above all of them.
int layer_at(const MemoryStack& stack, int step, Bytes height);

/// `steps` are such as the simulator plays with these homes; at each step the layers together take what it
/// says is held (`StepTrace::during`), to the byte. What an op writes over counts for the part of what is
/// written. Cost: steps times layers.
MemoryStack memory_stack(const Graph& graph, const std::vector<Step>& steps, const ModuleGroups& groups,
                         const Homes& homes = {});

}  // namespace rematlas
