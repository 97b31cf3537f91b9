#include "viz/paint/canvas.h"

namespace rematlas {

namespace {

/// Returns the start of the UTF-8 character at or before `i`.
std::size_t character_start(std::string_view text, std::size_t i) {
    while (i > 0 && i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) --i;
    return i;
}

/// Returns about `kept` bytes of the text, with an ellipsis for the rest. With `middle`, half of the bytes
/// are from the end of the text.
std::string shortened_to(std::string_view text, std::size_t kept, bool middle) {
    std::size_t tail = middle ? kept / 2 : 0;
    std::string shorter(text.substr(0, character_start(text, kept - tail)));
    shorter += "…";
    if (tail > 0) shorter += text.substr(character_start(text, text.size() - tail));
    return shorter;
}

}  // namespace

std::string fitted(const TextRuler& ruler, std::string_view text, const TextStyle& style, double width,
                   bool middle) {
    if (ruler.text_width(text, style) <= width) return std::string(text);
    if (width <= style.size) return "";  // there is no room for the ellipsis and a letter
    std::size_t fits = 0, too_long = text.size();
    while (fits + 1 < too_long) {
        std::size_t kept = (fits + too_long) / 2;
        bool narrow = ruler.text_width(shortened_to(text, kept, middle), style) <= width;
        (narrow ? fits : too_long) = kept;
    }
    return fits > 0 ? shortened_to(text, fits, middle) : "";
}

Rect place_behind(const TextRuler& ruler, Point at, std::string_view text, const TextStyle& style,
                  double below) {
    const double width = ruler.text_width(text, style);
    const double left = style.align == Align::right ? at.x - width : at.x;
    return {left - 3, at.y - style.size, width + 6, style.size + below};
}

void write_on(Canvas& canvas, const Color& background, Point at, std::string_view text,
              const TextStyle& style, double below) {
    canvas.rectangle(place_behind(canvas, at, text, style, below), background.faded(0.85), {}, 2);
    canvas.text(at, text, style);
}

}  // namespace rematlas
