// Reads the answer of `rematlas fits --json`: the cards on which a step fits. Pictures are drawn from this
// file. The Python package writes the file (runtime/python/rematlas/cards/fits.py) and documents its fields.
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

/// One way to run the step on one card: without changes, with recomputation, or with offloading.
struct FitsWay {
    std::string name;  ///< plain, recompute or offload
    bool fits = false;
    std::optional<double> overhead = {};  ///< 1.1 means ten percent more time
    std::optional<Bytes> peak = {};    ///< peak of the schedule; the smallest peak found if no schedule fits
    std::optional<Bytes> needed = {};  ///< proven lower bound, if the step does not fit
    std::optional<std::int64_t> largest = {};     ///< the largest value of `varies` that fits
    std::optional<double> largest_overhead = {};  ///< the overhead of the step with this value
};

struct FitsCard {
    std::string id, name = {};
    Bytes memory = {}, room = {};  ///< memory of the card; bytes of it that the step may take
    std::vector<FitsWay> ways = {};
};

struct FitsAnswer {
    std::string name;  ///< name of the model, or of the function that makes it
    /// The keyword argument whose largest value is in `FitsWay::largest`; empty if there is none.
    std::string varies = {};
    std::vector<FitsCard> cards = {};
};

/// Parses or reads the file. Errors: one line that names the file and the field.
Result<FitsAnswer> parse_fits(std::string_view text, std::string_view name);
Result<FitsAnswer> read_fits(const std::filesystem::path& path);

}  // namespace rematlas
