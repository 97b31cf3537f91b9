// The words of pictures in the reader's language. They are English until a window says how to translate them.
#pragma once

#include <initializer_list>
#include <string>

namespace rematlas {

/// Of a word or a sentence with `%1`, `%2` for what is filled in.
using Translation = std::string (*)(const char* context, const char* english);

/// For all pictures from now on; null: English. Not while one is painted on another thread.
void set_translation(Translation translation);

/// `context` is "Picture": tools that collect words look for both.
std::string say(const char* context, const char* english);

/// `%1` becomes the first value, and so on.
std::string filled(const std::string& sentence, std::initializer_list<std::string> values);

}  // namespace rematlas
