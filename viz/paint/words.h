// The words of pictures in the reader's language. They are English until a window says how to translate them.
#pragma once

#include <initializer_list>
#include <string>

namespace rematlas {

/// Translates a word, or a sentence with `%1` and `%2` in the places of values.
using Translation = std::string (*)(const char* context, const char* english);

/// Sets the translation for all pictures from now on; null: English. Must not be called while another thread
/// paints a picture.
void set_translation(Translation translation);

/// The translation of `english`. `context` is "Picture", because tools that collect words look for both
/// arguments.
std::string say(const char* context, const char* english);

/// `%1` becomes the first value, and so on.
std::string filled(const std::string& sentence, std::initializer_list<std::string> values);

}  // namespace rematlas
