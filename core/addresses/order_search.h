// Packs blocks one after another, and searches for a good order.
//
// A recipe says how urgent a block is (by its width, length of life, first and last moment) and into which
// gap the block is put: the lowest, the tightest, the highest below a ceiling, or the one where it touches
// its neighbours longest. Packing by a recipe is cheap, so many recipes are tried: plain ones first, then
// random ones and mutations of the best. Another kind of mutation keeps the recipe and raises
// the urgency of blocks that were too high in its packing ("blame").
//
// Sources: greedy fits in fixed orders (Sekiyama et al. 2018, "Profile-guided memory optimization for deep
// neural networks"; Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference"), the
// touching perimeter of Lodi, Martello and Vigo 1999 ("Heuristic and metaheuristic approaches for a class of
// two-dimensional bin packing problems"), and the priorities by blame of Joslin and Clements 1999 ("Squeaky
// wheel optimization").
#pragma once

#include "core/addresses/packing.h"

namespace rematlas {

/// Returns the best packing found: the one with the lowest `Packing::top`. `floor` is a lower bound on the
/// top. The search stops when the top is `floor`, or after `limits.effort` comparisons. It tries the plain
/// recipes first (see above), even if they need more comparisons than that. The number of comparisons is
/// added to `spent`. Equal arguments give equal packings. Cost of packing by one recipe: quadratic in the
/// blocks at worst.
Packing pack_by_orders(const MemoryBlocks& blocks, std::int64_t floor, const SearchLimits& limits,
                       std::int64_t& spent);

}  // namespace rematlas
