// Feeds arbitrary bytes to the readers of words that people type: sizes, budgets, durations and pins. Each
// must read them or refuse with one line. A pin that is read must stay the same when it is written and read
// again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/base/sizes.h"
#include "core/schedule/pin.h"
#include "tests/fuzz/is_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    if (const auto read = rematlas::parse_bytes(text); is_read(read) && read->value < 0) std::abort();
    if (const auto read = rematlas::parse_duration(text); is_read(read) && read->value < 0) std::abort();
    if (const auto read = rematlas::parse_budget(text); is_read(read))
        for (const std::int64_t peak : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 61})
            is_read(rematlas::bytes_of(*read, {rematlas::Bytes(peak), rematlas::Bytes(peak / 3)}));
    if (const auto read = rematlas::parse_pin(text); is_read(read)) {
        const auto again = rematlas::parse_pin(rematlas::to_string(*read));
        if (!again || *again != *read) std::abort();
    }
    return 0;
}
