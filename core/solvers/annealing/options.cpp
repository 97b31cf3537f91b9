#include "core/solvers/annealing/options.h"

namespace rematlas {

void read_options(OptionReader& reader, AnnealingOptions& options) {
    reader.unsigned_integer("seed", options.seed);
    reader.unsigned_integer("max_moves", options.max_moves);
    reader.integer("first_cycle", options.first_cycle, 100, 1'000'000'000);
    reader.number("cycle_growth", options.cycle_growth, 1, 10);
    reader.number("start_temperature", options.start_temperature, 1e-9, 1e6);
    reader.number("end_temperature", options.end_temperature, 1e-9, 1e6);
    if (options.end_temperature > options.start_temperature)
        reader.reject("option 'end_temperature' must not be above 'start_temperature'");
}

}  // namespace rematlas
