// The requirement that all fuzzers of readers check.
#pragma once

#include <cstdlib>
#include <string>

/// Says whether the reader has read the input. Aborts if the reader refuses it with more than one line.
template <class Read>
bool is_read(const Read& read) {
    if (!read && read.error().message.find('\n') != std::string::npos) std::abort();
    return static_cast<bool>(read);
}
