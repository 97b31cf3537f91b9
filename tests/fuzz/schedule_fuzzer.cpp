// Feeds arbitrary bytes to the reader of schedules, which must read them or refuse with one line. What is read must
// stay the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/schedule/schedule_file.h"
#include "tests/fuzz/is_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const auto read = rematlas::parse_schedule(text, "schedule");
    if (!is_read(read)) return 0;
    const std::string written = rematlas::schedule_text(*read);
    const auto again = rematlas::parse_schedule(written, "written schedule");
    if (!again || rematlas::schedule_text(*again) != written) std::abort();
    return 0;
}
