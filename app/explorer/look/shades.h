// The colours of the window, light and dark.
#pragma once

#include <QColor>
#include <QPalette>
#include <QString>

namespace rematlas::explorer::theme {

struct Shades {
    QColor ink, muted, faint;          ///< text, text that stays in the background, text that is switched off
    QColor base, panel, line, border;  ///< grounds of views and of what is around them, and what is between
    QColor accent, on_accent;          ///< links, frames and the main button, and the text on it
    QColor accent_hover, accent_off;
    QColor hover, pressed, selected;  ///< grounds
    QColor groove, handle;            ///< of bars
    QColor danger, danger_ground, good;
    QColor icon;
    QColor alternate;
};

const Shades& light_shades();
const Shades& dark_shades();

QPalette palette_of(const Shades& shades);
/// For the whole application. Labels follow their properties: `quiet`, `danger`; `page` gives a widget the ground of
/// views.
QString style_sheet_of(const Shades& shades);

}  // namespace rematlas::explorer::theme
