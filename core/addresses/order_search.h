// Packs blocks one after another, and searches for a good order.
//
// A recipe says how urgent a block is (how wide, how long-lived, how early or late) and in which gap it is
// put: the lowest, the tightest, the highest below a ceiling, or where it touches its neighbours longest. A
// packing by a recipe costs little, so many are tried: the plain ones first, then random ones and mutations
// of the best. A mutation may also blame blocks that lay too high in the packing before, and then places
// them earlier.
//
// Source: greedy fits in orders fixed beforehand (Sekiyama et al. 2018, "Profile-guided memory optimization
// for deep neural networks"; Pisarchyk and Lee 2020, "Efficient memory management for deep neural net
// inference"), the touching perimeter of Lodi, Martello and Vigo 1999 ("Heuristic and metaheuristic
// approaches for a class of two-dimensional bin packing problems"), priorities after blame of Joslin and
// Clements 1999 ("Squeaky wheel optimization").
#pragma once

#include "core/addresses/packing.h"

namespace rematlas {

/// The best packing of those tried. The search stops when its top is `floor` (a lower bound on it) or when
/// the effort is spent; the plain recipes are tried in any case. The spent effort is added to `spent`. Equal
/// arguments give equal packings. Cost of a recipe: quadratic in the blocks at worst.
Packing pack_by_orders(const MemoryBlocks& blocks, std::int64_t floor, const SearchLimits& limits,
                       std::int64_t& spent);

}  // namespace rematlas
