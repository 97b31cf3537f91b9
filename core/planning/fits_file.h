// On which cards a step fits, as `rematlas fits --json` writes it: for pictures. The answers themselves are
// made by the Python package (runtime/python/rematlas/cards/fits.py), whose docstring says what the fields
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

/// As it is, recomputed or offloaded, on one card.
struct FitsWay {
    std::string name;  ///< plain, recompute or offload
    bool fits = false;
    std::optional<double> overhead = {};  ///< 1.1 is ten percent more time
    std::optional<Bytes> peak = {};    ///< of the schedule; where none fits, of the smallest that was found
    std::optional<Bytes> needed = {};  ///< proven, where it does not fit
    std::optional<std::int64_t> largest = {};  ///< of what varies
};

struct FitsCard {
    std::string id, name = {};
    Bytes memory = {}, room = {};  ///< of the card, and what of it the step may take
    std::vector<FitsWay> ways = {};
};

struct FitsAnswer {
    std::string name;         ///< of the model or of the function that makes it
    std::string varies = {};  ///< keyword; empty where nothing varies
    std::vector<FitsCard> cards = {};
};

/// Errors: one line that names the file and the field.
Result<FitsAnswer> parse_fits(std::string_view text, std::string_view name);
Result<FitsAnswer> read_fits(const std::filesystem::path& path);

}  // namespace rematlas
