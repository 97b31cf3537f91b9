// Any bytes are read as the steps of a run or refused with one line, and in pieces as in one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/planning/run_steps.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    rematlas::RunReader whole("steps"), pieces("steps");
    const auto read = whole.add(text);
    if (!read && read.error().message.find('\n') != std::string::npos) std::abort();
    const std::size_t half = size / 2;
    const bool in_pieces = pieces.add(text.substr(0, half)) && pieces.add(text.substr(half));
    if (in_pieces != static_cast<bool>(read)) std::abort();
    if (whole.run().steps.size() != pieces.run().steps.size()) std::abort();
    return 0;
}
