// The cards on which a step fits, as `rematlas fits --json` writes them. Pictures are drawn from this file.
// The Python package makes the answers (runtime/python/rematlas/cards/fits.py) and says what the fields
// mean.
//
//     Result<FitsAnswer> fits = read_fits("llama.fits.json");
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace rematlas {

/// One way to run the step on one card: as it is, with recomputation or with offloading.
struct FitsWay {
    std::string name;  ///< plain, recompute or offload
    bool fits = false;
    std::optional<double> overhead = {};       ///< 1.1 is ten percent more time
    std::optional<Bytes> peak = {};            ///< of the schedule; the smallest peak found if none fits
    std::optional<Bytes> needed = {};          ///< proven lower bound, if the step does not fit
    std::optional<std::int64_t> largest = {};  ///< the largest value of `varies` that fits
};

struct FitsCard {
    std::string id, name = {};
    Bytes memory = {}, room = {};  ///< of the card, and the part that the step may take
    std::vector<FitsWay> ways = {};
};

struct FitsAnswer {
    std::string name;         ///< of the model or of the function that makes it
    std::string varies = {};  ///< keyword of the argument that varies; empty if none does
    std::vector<FitsCard> cards = {};
};

/// Errors: one line that names the file and the field.
Result<FitsAnswer> parse_fits(std::string_view text, std::string_view name);
Result<FitsAnswer> read_fits(const std::filesystem::path& path);

}  // namespace rematlas
