// Colours that people with any colour vision can distinguish (after Okabe and Ito 2008), on light and on dark
// paper.
#pragma once

#include <array>
#include <cstddef>

#include "core/graph/graph.h"
#include "viz/block_view/block_view.h"
#include "viz/paint/canvas.h"

namespace rematlas::palette {

inline constexpr Color kBlue = Color::hex(0x0072b2);
inline constexpr Color kSky = Color::hex(0x56b4e9);
inline constexpr Color kGreen = Color::hex(0x009e73);
inline constexpr Color kVermilion = Color::hex(0xd55e00);
inline constexpr Color kOrange = Color::hex(0xe69f00);
inline constexpr Color kPurple = Color::hex(0xcc79a7);
inline constexpr Color kGrey = Color::hex(0x8a929b);

constexpr Color of(Phase phase) {
    return std::array{kSky, kOrange, kGreen, kGrey}[static_cast<std::size_t>(phase)];
}

constexpr Color of(Decision decision) {
    return std::array{kBlue, kVermilion, kPurple}[static_cast<std::size_t>(decision)];
}

/// The colours of the page, of texts and of lines. Data has the same hues on every paper; on dark paper they
/// are lighter, so that they contrast with the page.
struct Paper {
    Color page, ink, quiet, line, grid, panel;
    Color budget;               ///< colour of the line that must not be exceeded
    Color mark;                 ///< colour of selected elements; `ink` is readable on it
    double lift;                ///< share of the ink that is mixed into the colours of data
    double bar;                 ///< share of the page's colour in the colours of bars with names
    std::array<Color, 3> heat;  ///< colours for little, half and much, with rising contrast to the page

    constexpr Color data(const Color& color) const { return color.mixed(ink, lift); }
    constexpr Color of(Phase phase) const { return data(palette::of(phase)); }
    constexpr Color of(Decision decision) const { return data(palette::of(decision)); }
    /// Returns a colour of data mixed with the page, so that text on it is readable.
    constexpr Color pale(const Color& color, double part) const { return color.mixed(page, part); }
    /// Returns a colour of data for text, mixed with enough ink to be readable on the page.
    constexpr Color text(const Color& color) const { return color.mixed(ink, 0.45); }
};

inline constexpr Paper kLight = {.page = Color::hex(0xffffff),
                                 .ink = Color::hex(0x1f2933),
                                 .quiet = Color::hex(0x5b6673),
                                 .line = Color::hex(0x9aa3ad),
                                 .grid = Color::hex(0xe4e8ec),
                                 .panel = Color::hex(0xf6f8fa),
                                 .budget = Color::hex(0xb42318),
                                 .mark = Color::hex(0xffb020),
                                 .lift = 0,
                                 .bar = 0.3,
                                 .heat = {Color::hex(0xfbf8d0), Color::hex(0xe69f00), Color::hex(0xb54f00)}};

inline constexpr Paper kDark = {.page = Color::hex(0x1a1f26),
                                .ink = Color::hex(0xe3e8ee),
                                .quiet = Color::hex(0xa3afbc),
                                .line = Color::hex(0x66727f),
                                .grid = Color::hex(0x303944),
                                .panel = Color::hex(0x20262e),
                                .budget = Color::hex(0xff8f80),
                                .mark = Color::hex(0x905c00),
                                .lift = 0.06,
                                .bar = 0.5,
                                .heat = {Color::hex(0x3a3d2c), Color::hex(0x80611a), Color::hex(0xd6660e)}};

/// The colours of curves in a plot: one for each solver in the order of the registry, then one for unknown
/// names. Layers and bands of memory have these colours, too. The report's page takes the colours and their
/// number from here.
inline constexpr std::array kCurves = {kBlue,
                                       kVermilion,
                                       kGreen,
                                       kPurple,
                                       kOrange,
                                       kSky,
                                       Color::hex(0x4d4d4d),
                                       Color::hex(0x8c6d1f),
                                       Color::hex(0xa8327d),
                                       Color::hex(0x1b8a8a),
                                       Color::hex(0x6f8f1f),
                                       Color::hex(0x6a51b5),
                                       Color::hex(0xa65a3a),
                                       Color::hex(0x8a949e),
                                       Color::hex(0x2f3e9e)};

}  // namespace rematlas::palette
