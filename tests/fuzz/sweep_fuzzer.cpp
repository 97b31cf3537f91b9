// Feeds arbitrary bytes to the reader of sweeps, which must read them or refuse with one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "core/planning/sweep.h"
#include "tests/fuzz/is_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const auto read = rematlas::parse_sweep(text, "sweep");
    is_read(read);
    return 0;
}
