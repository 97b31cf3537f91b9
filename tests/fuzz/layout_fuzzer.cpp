// Feeds arbitrary bytes to the readers of what the layout program gets and answers. Each must read them or
// refuse with one line. What is read must stay the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/files.h"
#include "tests/fuzz/is_read.h"
#include "viz/layout/layout.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const auto json = rematlas::parse_json(text, "layout");
    if (!is_read(json)) return 0;
    if (const auto read = rematlas::layout_request_from(*json); is_read(read)) {
        const auto again = rematlas::layout_request_from(rematlas::to_json(*read));
        if (!again || *again != *read) std::abort();
    }
    if (const auto read = rematlas::layout_from(*json); is_read(read)) {
        const auto again = rematlas::layout_from(rematlas::to_json(*read));
        if (!again || *again != *read) std::abort();
    }
    return 0;
}
