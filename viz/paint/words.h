// The words of pictures in the reader's language. They are English until a window sets a translation.
#pragma once

#include <initializer_list>
#include <string>

namespace rematlas {

/// Translates a word, or a sentence in which `%1` and `%2` stand for values.
using Translation = std::string (*)(const char* context, const char* english);

/// Sets the translation for all pictures from now on; null means English. Must not be called while another
/// thread paints a picture.
void set_translation(Translation translation);

/// Returns the translation of `english`. `context` must be "Picture"; it is an argument because the tools
/// that collect words for translation look for calls with a context and a text.
std::string say(const char* context, const char* english);

/// Replaces `%1` by the first value, and so on.
std::string filled(const std::string& sentence, std::initializer_list<std::string> values);

}  // namespace rematlas
