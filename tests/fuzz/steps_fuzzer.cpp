// Feeds arbitrary bytes to the reader of a run's steps, which must read them or refuse with one line. Reading
// in two pieces must give the same result as reading all at once.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/planning/run_steps.h"
#include "tests/fuzz/is_read.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    rematlas::RunReader whole("steps"), pieces("steps");
    const auto read = whole.add(text);
    is_read(read);
    const std::size_t half = size / 2;
    const bool in_pieces = pieces.add(text.substr(0, half)) && pieces.add(text.substr(half));
    if (in_pieces != static_cast<bool>(read)) std::abort();
    if (whole.run().steps.size() != pieces.run().steps.size()) std::abort();
    return 0;
}
