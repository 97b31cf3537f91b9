// Measures the widths of texts as Qt draws them, for layouts that are made outside of the GUI's thread.
#pragma once

#include <QFont>
#include <QFontMetricsF>

#include "viz/paint/canvas.h"

namespace rematlas::explorer {

/// Returns the ruler for texts as Qt draws them. Any thread may use it.
const TextRuler& qt_ruler();

/// Qt rounds font sizes to whole pixels. For half pixels, fonts are made twice as large and drawn at half
/// scale.
inline constexpr double font_scale = 2;

struct SizedFont {
    QFont font;
    QFontMetricsF metrics;
};
/// Returns DejaVu Sans at `font_scale` times the style's size. The reference may only be used in the calling
/// thread.
const SizedFont& font_for(const TextStyle& style);

}  // namespace rematlas::explorer
