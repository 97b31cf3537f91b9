// Options of the annealing, which are those of the solver atlas, and their JSON form for configuration files.
#pragma once

#include <cstdint>

#include "core/solving/option_reader.h"

namespace rematlas {

struct AnnealingOptions {
    std::uint64_t seed = 0;         ///< added to the seed of the limits
    std::uint64_t max_moves = 0;    ///< the search stops after so many moves and not before; 0: no such
                                    ///< limit
    int first_cycle = 40'000;       ///< moves of the first annealing cycle
    double cycle_growth = 1.5;      ///< each cycle is longer by this factor
    double start_temperature = 1;   ///< in mean times of one rerun
    double end_temperature = 0.01;  ///< in mean times of one rerun
};

void read_options(OptionReader& reader, AnnealingOptions& options);

}  // namespace rematlas
