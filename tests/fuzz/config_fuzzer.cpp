// Feeds arbitrary bytes to the reader of configs, which must read them or refuse with one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/planning/config.h"
#include "tests/fuzz/is_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    is_read(rematlas::parse_config(text, "config"));
    return 0;
}
