#include "viz/paint/words.h"

#include <atomic>

namespace rematlas {

namespace {

std::atomic<Translation> translation_now = nullptr;

}  // namespace

void set_translation(Translation translation) {
    translation_now = translation;
}

std::string say(const char* context, const char* english) {
    const Translation translation = translation_now;
    return translation ? translation(context, english) : english;
}

std::string filled(const std::string& sentence, std::initializer_list<std::string> values) {
    std::string out;
    for (std::size_t i = 0; i < sentence.size(); ++i) {
        const bool place = sentence[i] == '%' && i + 1 < sentence.size() && sentence[i + 1] >= '1' &&
                           sentence[i + 1] < static_cast<char>('1' + values.size());
        if (place)
            out += values.begin()[sentence[++i] - '1'];
        else
            out += sentence[i];
    }
    return out;
}

}  // namespace rematlas
