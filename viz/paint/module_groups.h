// The parts of a model that a picture tells apart: module paths with their numbers left out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

struct ModuleGroups {
    /// Names such as "blocks.*.attn", the heaviest part first. Then come "loss", "optimizer" and "other",
    /// for ops of these kinds that belong to no part.
    std::vector<std::string> names;
    IdVector<OpId, int> of;  ///< index of `names`
};

/// "blocks.*.attn" for "blocks.11.attn", so that equal layers are one part.
std::string module_class(std::string_view module);

/// At most `most` parts of the model, and up to three more of ops that belong to none. The weight of a part
/// is the bytes that its forward ops make for the loss and the backward pass. The heaviest part is split
/// into its modules as long as there are not too many parts. So the parts depend on the graph alone, and
/// they are the same in the pictures of all its schedules. Cost: linear in the ops.
ModuleGroups module_groups(const Graph& graph, std::size_t most = 6);

}  // namespace rematlas
