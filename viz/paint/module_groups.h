// The parts of a model that a picture distinguishes. A part is a module path without its numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

struct ModuleGroups {
    /// Names such as "blocks.*.attn", the heaviest part first. Then "loss", "optimizer" and "other" follow,
    /// for ops of these kinds that belong to no part.
    std::vector<std::string> names;
    IdVector<OpId, int> of;  ///< for each op: index into `names`
};

/// Returns "blocks.*.attn" for "blocks.11.attn", so that equal layers are one part.
std::string module_class(std::string_view module);

/// Returns at most `most` parts of the model, and up to three more for ops that belong to no part. The weight
/// of a part is the bytes that its forward ops make for the loss and the backward pass. Parts are split into
/// their modules, the heaviest part first, while there are at most `most` parts. The parts depend only on the
/// graph, so they are the same in the pictures of all its schedules. Cost: linear in the ops.
ModuleGroups module_groups(const Graph& graph, std::size_t most = 6);

}  // namespace rematlas
