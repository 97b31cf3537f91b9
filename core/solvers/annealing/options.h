// Options of the annealing, which are the options of the solver atlas, and their JSON form in configuration
// files.
#pragma once

#include <cstdint>

#include "core/solving/option_reader.h"

namespace rematlas {

struct AnnealingOptions {
    std::uint64_t seed = 0;  ///< added to the seed of the limits
    /// Limit on the moves; 0: no limit. With a limit, the search does not end early for lack of progress.
    std::uint64_t max_moves = 0;
    int first_cycle = 40'000;       ///< moves of the first annealing cycle
    double cycle_growth = 1.5;      ///< each cycle has this many times the moves of the cycle before
    double start_temperature = 1;   ///< as a multiple of the mean time of one rerun
    double end_temperature = 0.01;  ///< as a multiple of the mean time of one rerun
};

void read_options(OptionReader& reader, AnnealingOptions& options);

}  // namespace rematlas
