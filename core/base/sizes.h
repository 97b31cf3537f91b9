// Sizes in bytes and spans of time as people write and read them.
#pragma once

#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace rematlas {

/// "2GiB", "512MiB", "1500MB", "4096", "1.5 GiB", "300 mb"; "300M" is 300 MB, "300Mi" 300 MiB. Errors: any
/// other text, a negative size, or 2^62 bytes and more.
Result<Bytes> parse_bytes(std::string_view text);

/// A budget as people write it: bytes, or a share of bytes that only the step tells.
struct Budget {
    enum class Of {
        nothing,      ///< no share: `bytes`
        peak,         ///< of the peak without recomputation
        activations,  ///< of that peak less the resident bytes, which come on top
    };
    Budget() = default;
    Budget(Bytes bytes) : bytes(bytes) {}  // NOLINT(google-explicit-constructor): bytes are a budget

    Bytes bytes;
    double percent = 0;
    Of of = Of::nothing;
};

/// The bytes of a step of which budgets are shares.
struct StepBytes {
    Bytes peak;      ///< without recomputation
    Bytes resident;  ///< there for the whole step
};

/// "2GiB", "60%" or "60% of activations". Errors: anything else, not above 0, or too large.
Result<Budget> parse_budget(std::string_view text);

/// The budget in bytes, rounded down. Errors: a share that is less than a byte, or 2^62 bytes and more.
Result<Bytes> bytes_of(const Budget& budget, const StepBytes& step);

/// Returns the smallest share, to a tenth of a percent, that is at least `bytes`, as `parse_budget` takes
/// it. The text is empty where no share is that large, for example in a step in which only residents live.
std::string share_of(Bytes bytes, Budget::Of of, const StepBytes& step);

/// "60s", "500ms", "2m", "1h", "10" (seconds).
Result<Nanoseconds> parse_duration(std::string_view text);

/// "1.50 GiB", "812 MiB", "17 B": three significant digits.
std::string format_bytes(Bytes bytes);

/// "1.20 s", "35.1 ms", "810 us", "12 ns".
std::string format_duration(Nanoseconds time);

}  // namespace rematlas
