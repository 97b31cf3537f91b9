// Finds the parts of a training step that PyTorch can checkpoint: the calls of modules.
//
//     const std::vector<Region> regions = checkpoint_regions(graph, flat);
//
// Before the first backward op that reads a tensor which a region keeps, `torch.utils.checkpoint` runs the
// forward of the region again. It starts at the region's first op and stops after the last op that backward
// needs (early stop). Ops whose outputs are saved (selective checkpointing) are left out. The tensors that
// the region reads from outside are held until the last backward op that needs the region.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/flat_graph.h"

namespace rematlas {

struct Region {
    std::string module = {};             ///< path of the module that is called
    std::vector<std::int32_t> ops = {};  ///< its forward ops, in order; no other forward op runs between them
    int rerun = 0;                       ///< how many of `ops`, counted from the first, run again
    std::int32_t first_backward = -1, last_backward = -1;  ///< the first and the last backward op that read
                                                           ///< a tensor kept by the region
    std::vector<std::int32_t> inputs = {};                 ///< tensors that the region's ops read and that
                                                           ///< ops outside of the region make
    int parent = -1;                                       ///< index of the smallest other region that
                                                           ///< contains this one, or -1
};

/// Returns the regions in the order of their first ops, parents before children. A module is no region if its
/// ops are not consecutive, if it is called several times, if one of its ops may run only once (except ops
/// for which `only_counts` is true), if none of its ops would have to run again, or if a tensor that the
/// module reads is overwritten. A list of modules is no region either, because it is never called. It is
/// recognized by its children: all their names are numbers, and at least one child has modules of its own or
/// many ops. Cost: linear, times the depth of the modules.
std::vector<Region> checkpoint_regions(const Graph& graph, const FlatGraph& flat);

/// Returns, by op, whether its outputs can be saved. They can if the op is a forward op with outputs,
/// overwrites nothing and draws no random numbers, and if no other op overwrites its outputs. (If a rerun
/// left out an op that draws random numbers, later ops would draw other numbers.)
std::vector<std::uint8_t> savable_ops(const Graph& graph, const FlatGraph& flat);

/// Says whether the name consists of digits only, as the names of modules in lists do.
bool is_number(std::string_view name);

/// Says whether the op may run only once and makes nothing, such as the op that counts batches in BatchNorm.
/// PyTorch's rerun counts again; a schedule leaves the op out of the rerun.
bool only_counts(const FlatGraph& flat, std::int32_t op);

/// Returns the forward op that a backward op belongs to, or -1.
std::int32_t forward_of(const Graph& graph, std::int32_t op);

}  // namespace rematlas
