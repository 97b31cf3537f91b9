// Measures the widths of text in the windows, for layouts that are made without a window.
#pragma once

#include <QFont>
#include <QFontMetricsF>

#include "viz/paint/canvas.h"

namespace rematlas::explorer {

/// Any thread may use it.
const TextRuler& qt_ruler();

/// Qt rounds font sizes to whole pixels. To get half pixels, fonts have twice the size and are drawn at half
/// scale.
inline constexpr double font_scale = 2;

struct SizedFont {
    QFont font;
    QFontMetricsF metrics;
};
/// Returns DejaVu Sans at `font_scale` times the style's size. The reference stays valid in this thread.
const SizedFont& font_for(const TextStyle& style);

}  // namespace rematlas::explorer
