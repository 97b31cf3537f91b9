// Widths of text as the windows draw it, for layouts that are made without a window.
#pragma once

#include <QFont>
#include <QFontMetricsF>

#include "viz/paint/canvas.h"

namespace rematlas::explorer {

/// Safe in any thread.
const TextRuler& qt_ruler();

/// Qt rounds the sizes of fonts to whole pixels; halves come from a font of twice the size, drawn at half of
/// it.
inline constexpr double font_scale = 2;

struct SizedFont {
    QFont font;
    QFontMetricsF metrics;
};
/// DejaVu Sans at `font_scale` times the style's size. Stays valid in this thread.
const SizedFont& font_for(const TextStyle& style);

}  // namespace rematlas::explorer
