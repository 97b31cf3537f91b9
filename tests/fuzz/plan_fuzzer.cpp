// Feeds arbitrary bytes to the reader of plans, which must read them or refuse with one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/schedule/schedule_file.h"
#include "tests/fuzz/is_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    is_read(rematlas::parse_plan(text, "plan"));
    return 0;
}
