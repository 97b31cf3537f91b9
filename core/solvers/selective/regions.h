// The parts of a training step that PyTorch can checkpoint: the calls of modules.
//
//     const std::vector<Region> regions = checkpoint_regions(graph, flat);
//
// `torch.utils.checkpoint` runs the forward of a region again, from its first op to the last one that
// backward needs (early stop), before the first backward op that reads anything which the region keeps for
// backward. Ops whose outputs are saved (selective checkpointing) are left out. The tensors that the region
// reads from outside are held until the last such backward op.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

struct Region {
    std::string module = {};             ///< path of the module whose call it is
    std::vector<std::int32_t> ops = {};  ///< its forward ops, in order: no other forward op runs between them
    int rerun = 0;                       ///< so many of them, from the first one on, run again
    std::int32_t first_backward = -1, last_backward = -1;  ///< ops that read what the region keeps
    std::vector<std::int32_t> inputs = {};                 ///< tensors of other ops that its ops read
    int parent = -1;                                       ///< the smallest region that holds it, or -1
};

/// The regions in the order of their first ops, parents before their children. A module is no region if its
/// ops are not together or run several times, if one of them may run once only, if none of them runs again,
/// or if a tensor that it reads is written over. A list of modules, which nobody calls, is recognized by its
/// children: their names are numbers, and they have modules of their own or many ops. Cost: linear, times
/// the depth of the modules.
std::vector<Region> checkpoint_regions(const Graph& graph, const FlatGraph& flat);

/// By op: whether its outputs can be saved. Such an op has outputs, draws no random numbers (else the ops
/// behind it would draw others) and writes over nothing, and no op writes over its outputs.
std::vector<std::uint8_t> savable_ops(const Graph& graph, const FlatGraph& flat);

/// Digits alone, as modules in lists are named.
bool is_number(std::string_view name);

/// Whether the op may run once only and makes nothing, as the counter of steps that BatchNorm has. PyTorch's
/// rerun counts again; in a schedule the op is left out.
bool only_counts(const FlatGraph& flat, std::int32_t op);

/// The forward op that a backward op belongs to, or -1.
std::int32_t forward_of(const Graph& graph, std::int32_t op);

}  // namespace rematlas
