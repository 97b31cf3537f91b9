#include "app/explorer/look/shades.h"

#include <utility>

namespace rematlas::explorer::theme {

const Shades& light_shades() {
    static const Shades shades{.ink = 0x1d2733,
                               .muted = 0x5b697b,
                               .faint = 0x9aa7b6,
                               .base = 0xffffff,
                               .panel = 0xf4f6f9,
                               .line = 0xdbe1e8,
                               .border = 0xc9d2dc,
                               .accent = 0x2458b8,
                               .on_accent = 0xffffff,
                               .accent_hover = 0x1d4a9e,
                               .accent_off = 0xa9bfe2,
                               .hover = 0xeef3fa,
                               .pressed = 0xd9e5f7,
                               .selected = 0xd9e5f7,
                               .groove = 0xe8ecf1,
                               .handle = 0xcdd5de,
                               .danger = 0xb42318,
                               .danger_ground = 0xfff1ef,
                               .good = 0x1a7f4b,
                               .icon = 0x3d4b5c,
                               .alternate = 0xfafbfc};
    return shades;
}

const Shades& dark_shades() {
    static const Shades shades{.ink = 0xe3e8ee,
                               .muted = 0xa3afbc,
                               .faint = 0x6f7c8a,
                               .base = 0x1a1f26,
                               .panel = 0x21272f,
                               .line = 0x333c47,
                               .border = 0x465260,
                               .accent = 0x7fb0f7,
                               .on_accent = 0x10161e,
                               .accent_hover = 0x9bc2fa,
                               .accent_off = 0x3c5577,
                               .hover = 0x2a323c,
                               .pressed = 0x2d4160,
                               .selected = 0x2d4160,
                               .groove = 0x2f3842,
                               .handle = 0x4a5663,
                               .danger = 0xff9c8f,
                               .danger_ground = 0x3b2422,
                               .good = 0x63cf97,
                               .icon = 0xc3ccd6,
                               .alternate = 0x1d232a};
    return shades;
}

QPalette palette_of(const Shades& s) {
    QPalette palette;
    const std::pair<QPalette::ColorRole, QColor> roles[] = {
        {QPalette::Window, s.panel},
        {QPalette::WindowText, s.ink},
        {QPalette::Base, s.base},
        {QPalette::AlternateBase, s.alternate},
        {QPalette::Text, s.ink},
        {QPalette::Button, s.panel},
        {QPalette::ButtonText, s.ink},
        {QPalette::BrightText, s.base},
        {QPalette::ToolTipBase, s.base},
        {QPalette::ToolTipText, s.ink},
        {QPalette::Highlight, s.selected},
        {QPalette::HighlightedText, s.ink},
        {QPalette::Link, s.accent},
        {QPalette::LinkVisited, s.accent},
        {QPalette::PlaceholderText, s.muted},
        {QPalette::Light, s.base},
        {QPalette::Midlight, s.hover},
        {QPalette::Mid, s.border},
        {QPalette::Dark, s.border},
        {QPalette::Shadow, s.border},
    };
    for (const auto& [role, color] : roles) palette.setColor(role, color);
    for (QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, s.faint);
    return palette;
}

}  // namespace rematlas::explorer::theme
