// Feeds arbitrary bytes to the reader of sweeps, which must read them or refuse with one line. What is read must
// stay the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/planning/sweep.h"
#include "tests/fuzz/is_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const auto read = rematlas::parse_sweep(text, "sweep");
    if (!is_read(read)) return 0;
    const std::string written = rematlas::sweep_text(*read);
    const auto again = rematlas::parse_sweep(written, "written sweep");
    if (!again || rematlas::sweep_text(*again) != written) std::abort();
    return 0;
}
