// Improves a packing by guided ejection search.
//
// The arena is made a little smaller than the best packing so far, and the blocks that reach above its end
// are taken out. Then the blocks that were taken out are put back one after another, mostly the widest first.
// Each block is put at the offset where displacing other blocks costs least: on top of another block, below
// another block, at 0 or at the end of the arena. Displaced blocks wait to be put back, too. Displacing a
// block costs more once the block has displaced others. This keeps the search from running in circles.
//
// Source: Nagata and Braysy 2009, "A powerful route minimization heuristic for the vehicle routing problem
// with time windows". Here ranges of addresses take the place of routes.
#pragma once

#include "core/addresses/packing.h"

namespace rematlas {

/// Lowers the top of `packing`, which must be valid and stays valid. The top never rises. The search stops
/// when the top is `floor` (a lower bound on the top), or when the effort or the patience of `limits` is
/// spent. The spent effort is added to `spent`. Cost of putting one block back: a comparison with every
/// placed block. Equal arguments give equal packings.
void lower_by_ejection(const MemoryBlocks& blocks, std::int64_t floor, const SearchLimits& limits,
                       Packing& packing, std::int64_t& spent);

}  // namespace rematlas
