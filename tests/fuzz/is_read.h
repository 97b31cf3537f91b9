// The requirements that fuzzers of readers check.
#pragma once

#include <cstdlib>
#include <string>

/// Says whether the reader has read the input. Aborts if the reader refuses it with more than one line.
template <class Read>
bool is_read(const Read& read) {
    if (!read && read.error().message.find('\n') != std::string::npos) std::abort();
    return static_cast<bool>(read);
}

/// Reads the input with `parse`. Aborts if the reader refuses it with more than one line, or if what is read
/// becomes another text when it is written with `text_of`, read and written again.
template <class Parse, class TextOf>
void check_reader(const std::string& input, const Parse& parse, const TextOf& text_of) {
    const auto read = parse(input, "input");
    if (!is_read(read)) return;
    const std::string written = text_of(*read);
    const auto again = parse(written, "written input");
    if (!again || text_of(*again) != written) std::abort();
}
