// Lowering a packing: guided ejection search.
//
// The arena is made a little smaller than the best packing so far, and what reaches above it is taken out.
// Then one block after the other, mostly the widest that wait, goes back to where it displaces the least: on
// top of another, below another, at 0 or at the ceiling. Who is displaced waits in turn. A block that could
// not go back without displacing others becomes dearer to displace, so that the search does not run in
// circles.
//
// Source: Nagata and Braysy 2009, "A powerful route minimization heuristic for the vehicle routing problem
// with time windows", carried over from routes to ranges of addresses.
#pragma once

#include "core/addresses/packing.h"

namespace rematlas {

/// `packing` is valid and stays so; its top never rises. Stops when the top is `floor` (a lower bound on it),
/// or when effort or patience are spent; what was spent is added to `spent`. A move compares with every block
/// in place. Equal arguments give equal packings.
void lower_by_ejection(const MemoryBlocks& blocks, std::int64_t floor, const SearchLimits& limits,
                       Packing& packing, std::int64_t& spent);

}  // namespace rematlas
