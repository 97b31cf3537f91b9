// Reads and writes sizes in bytes and spans of time in the form that people use.
#pragma once

#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace rematlas {

/// Reads "2GiB", "512MiB", "1500MB", "4096", "1.5 GiB" or "300 mb"; "300M" is 300 MB, "300Mi" is 300 MiB.
/// Fails for any other text, a negative size, or 2^62 bytes and more.
Result<Bytes> parse_bytes(std::string_view text);

/// A budget as a user gives it: bytes, or a share of bytes that depend on the step.
struct Budget {
    enum class Of {
        nothing,  ///< no share: the budget is `bytes`
        peak,     ///< share of the peak without recomputation
        /// Share of the difference between the peak without recomputation and the resident bytes. The budget
        /// is this share plus the resident bytes.
        activations,
    };
    Budget() = default;
    Budget(Bytes bytes) : bytes(bytes) {}  // NOLINT(google-explicit-constructor): bytes are a budget

    Bytes bytes;
    double percent = 0;
    Of of = Of::nothing;
};

/// The bytes of a step from which a share is computed.
struct StepBytes {
    Bytes peak;      ///< peak without recomputation
    Bytes resident;  ///< bytes that are held during the whole step
};

/// Reads "2GiB", "60%" or "60% of activations". Fails for any other text, and if the budget is not above 0 or
/// is too large.
Result<Budget> parse_budget(std::string_view text);

/// Returns the budget in bytes, rounded down. Fails if a share is less than a byte, or 2^62 bytes or more.
Result<Bytes> bytes_of(const Budget& budget, const StepBytes& step);

/// Considers the shares that are whole tenths of a percent. Returns the smallest one that is at least
/// `bytes`, as a text that `parse_budget` reads. Returns an empty text if no share is that large, for example
/// if only residents live in the step.
std::string share_of(Bytes bytes, Budget::Of of, const StepBytes& step);

/// Reads "60s", "500ms", "2m", "1h" or "10" (seconds).
Result<Nanoseconds> parse_duration(std::string_view text);

/// Returns text such as "1.50 GiB", "812 MiB" or "17 B", with three significant digits.
std::string format_bytes(Bytes bytes);

/// Returns text such as "1.20 s", "35.1 ms", "810 us" or "12 ns".
std::string format_duration(Nanoseconds time);

}  // namespace rematlas
