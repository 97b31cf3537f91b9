// The parts of a model that a picture tells apart: module paths with their numbers left out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

struct ModuleGroups {
    /// "blocks.*.attn": the heaviest first. Then, where ops of no part are such: "loss", "optimizer",
    /// "other".
    std::vector<std::string> names;
    IdVector<OpId, int> of;  ///< index of `names`
};

/// "blocks.*.attn" for "blocks.11.attn": equal layers are one part.
std::string module_class(std::string_view module);

/// At most `most` parts, and up to three of ops that belong to none. Parts are weighed by the bytes that
/// forward ops make for the loss and the backward pass, and the heaviest is split into its modules as long as
/// there are not too many. So they depend on the graph alone, and pictures of all its schedules have the
/// same. Cost: linear in the ops.
ModuleGroups module_groups(const Graph& graph, std::size_t most = 6);

}  // namespace rematlas
