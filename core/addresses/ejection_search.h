// Lowering a packing: guided ejection search.
//
// The arena is made a little smaller than the best packing so far, and the blocks that reach above it are
// taken out. Then the waiting blocks go back one after another, mostly the widest first. Each goes to the
// offset where it displaces the least: on top of another block, below another, at 0 or at the ceiling.
// Displaced blocks wait in turn. A block that could not go back without displacing others becomes dearer to
// displace, so that the search does not run in circles.
//
// Source: Nagata and Braysy 2009, "A powerful route minimization heuristic for the vehicle routing problem
// with time windows", carried over from routes to ranges of addresses.
#pragma once

#include "core/addresses/packing.h"

namespace rematlas {

/// `packing` is valid and stays so; its top never rises. The search stops when the top is `floor` (a lower
/// bound on it), or when effort or patience are spent. The spent effort is added to `spent`. Cost of a move:
/// a comparison with every block in place. Equal arguments give equal packings.
void lower_by_ejection(const MemoryBlocks& blocks, std::int64_t floor, const SearchLimits& limits,
                       Packing& packing, std::int64_t& spent);

}  // namespace rematlas
