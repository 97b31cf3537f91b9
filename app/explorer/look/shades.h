// The colours of the window, in a light and a dark version.
#pragma once

#include <QColor>
#include <QPalette>
#include <QString>

namespace rematlas::explorer::theme {

struct Shades {
    QColor ink, muted, faint;          ///< text: normal, less important, disabled
    QColor base, panel, line, border;  ///< backgrounds of views and of panels; separators; borders
    QColor accent, on_accent;          ///< links, frames and the main button; the text on the main button
    QColor accent_hover, accent_off;
    QColor hover, pressed, selected;  ///< backgrounds
    QColor groove, handle;            ///< parts of scroll bars and sliders
    QColor danger, danger_ground, good;
    QColor icon;
    QColor alternate;
};

const Shades& light_shades();
const Shades& dark_shades();

QPalette palette_of(const Shades& shades);
/// Returns the style sheet of the whole application. A widget with the property `page` gets the background of
/// views. A label with the property `quiet` has text in the colour `muted`. A label with the property
/// `danger` has text in the colour `danger`.
QString style_sheet_of(const Shades& shades);

}  // namespace rematlas::explorer::theme
