// Sizes in bytes and spans of time as people write and read them.
#pragma once

#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace rematlas {

/// "2GiB", "512MiB", "1500MB", "4096", "1.5 GiB". Errors: anything else, negative, or 2^62 and more.
Result<Bytes> parse_bytes(std::string_view text);

/// A budget: bytes as above, or a percentage of `full` such as "60%" (rounded down). Errors: as above, or not
/// above 0.
Result<Bytes> parse_budget(std::string_view text, Bytes full);

/// "60s", "500ms", "2m", "1h", "10" (seconds).
Result<Nanoseconds> parse_duration(std::string_view text);

/// "1.50 GiB", "812 MiB", "17 B": three significant digits.
std::string format_bytes(Bytes bytes);

/// "1.20 s", "35.1 ms", "810 us", "12 ns".
std::string format_duration(Nanoseconds time);

}  // namespace rematlas
