// The interface through which painters draw. With it, a picture is the same in a window, as SVG, as PNG and
// as PDF.
//
// Lengths are in points; in a window they are in pixels. y grows downwards. SVG has real `<text>` elements
// and a tooltip for each group, so that a browser can search the picture and show more than fits on an item.
// PNG and PDF are made by cairo. The explorer has its own canvas.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "viz/layout/layout.h"

namespace rematlas {

struct Color {
    double red = 0, green = 0, blue = 0, alpha = 1;

    static constexpr Color hex(std::uint32_t rgb, double alpha = 1) {
        return {(rgb >> 16 & 0xff) / 255.0, (rgb >> 8 & 0xff) / 255.0, (rgb & 0xff) / 255.0, alpha};
    }
    /// Returns the colour mixed with white: 0 leaves the colour unchanged, 1 gives white.
    constexpr Color tint(double white) const {
        return {red + (1 - red) * white, green + (1 - green) * white, blue + (1 - blue) * white, alpha};
    }
    constexpr Color shade(double black) const {
        return {red * (1 - black), green * (1 - black), blue * (1 - black), alpha};
    }
    constexpr Color faded(double a) const { return {red, green, blue, a}; }
    /// Returns the colour mixed with `other`: a `part` of 0 leaves the colour unchanged, 1 gives `other`.
    constexpr Color mixed(const Color& other, double part) const {
        return {red + (other.red - red) * part, green + (other.green - green) * part,
                blue + (other.blue - blue) * part, alpha + (other.alpha - alpha) * part};
    }
};

struct Pen {
    Color color;
    double width = 1;
    std::vector<double> dash = {};  ///< lengths of strokes and gaps; empty: a solid line
};

enum class Align { left, center, right };

struct TextStyle {
    double size = 10;
    bool bold = false;
    Color color = Color::hex(0x1f2933);
    Align align = Align::left;
    bool upward = false;  ///< turned by 90 degrees, so that it is read from below
};

/// A sequence of pieces. Each curve and line starts where the previous piece ended.
class Path {
  public:
    enum class Verb : std::uint8_t { move, line, curve, close };
    struct Piece {
        Verb verb;
        Point points[3];
    };

    Path& move_to(Point p) { return add({Verb::move, {p, {}, {}}}); }
    Path& line_to(Point p) { return add({Verb::line, {p, {}, {}}}); }
    Path& curve_to(Point a, Point b, Point p) { return add({Verb::curve, {a, b, p}}); }
    Path& close() { return add({Verb::close, {}}); }
    const std::vector<Piece>& pieces() const { return pieces_; }

  private:
    Path& add(Piece piece) {
        pieces_.push_back(piece);
        return *this;
    }
    std::vector<Piece> pieces_;
};

/// Measures the width of text. All rulers measure DejaVu Sans, so that one layout can be used for all
/// canvases.
class TextRuler {
  public:
    virtual ~TextRuler() = default;
    /// Returns the width of one line.
    virtual double text_width(std::string_view text, const TextStyle& style) const = 0;
};

class Canvas : public TextRuler {
  public:
    virtual void rectangle(const Rect& rect, std::optional<Color> fill, const std::optional<Pen>& pen = {},
                           double radius = 0) = 0;
    virtual void path(const Path& path, std::optional<Color> fill, const std::optional<Pen>& pen) = 0;
    /// Writes text. `at` is on the baseline.
    virtual void text(Point at, std::string_view text, const TextStyle& style) = 0;
    /// Begins a group, which `end` ends. The group has the tooltip if the format has tooltips.
    virtual void begin(std::string_view tooltip) = 0;
    virtual void end() = 0;
    virtual void clip(
        const Rect& rect) = 0;  ///< paints only inside `rect` until `unclip`; must not be nested
    virtual void unclip() = 0;

    void line(Point a, Point b, const Pen& pen) { path(Path().move_to(a).line_to(b), {}, pen); }
};

/// A canvas whose content becomes a file.
class PictureCanvas : public Canvas {
  public:
    /// Returns the bytes of the file. Nothing may be drawn afterwards.
    virtual Result<std::string> finish() = 0;
};

enum class PictureFormat { svg, png, pdf };

/// The settings of an SVG picture that shares an HTML page with other pictures.
struct SvgPlace {
    Color page = Color::hex(0xffffff);
    std::string ids = {};  ///< prefix of the ids in the picture; must be different for each picture of the
                           ///< page
};

/// Makes a canvas with a white page. PNG has two pixels per point, or fewer if the picture would exceed 60
/// megapixels or 32,000 pixels for a side. PDF is scaled down if a side would exceed 14,400 points.
std::unique_ptr<PictureCanvas> make_canvas(PictureFormat format, Size size, std::string_view title);
std::unique_ptr<PictureCanvas> make_svg_canvas(Size size, std::string_view title, const SvgPlace& place = {});

/// Returns the ruler of the canvases above, for sizes that are needed before a canvas exists.
const TextRuler& picture_ruler();

/// Returns `text`. If it is wider than `width`, returns its beginning and an ellipsis; with `middle`, returns
/// its beginning and its end with the ellipsis between them.
std::string fitted(const TextRuler& ruler, std::string_view text, const TextStyle& style, double width,
                   bool middle = false);

/// Returns the rectangle behind a text that is aligned to the left or to the right. It extends 3 points
/// beyond the text at both sides, and `below` points below the baseline.
Rect place_behind(const TextRuler& ruler, Point at, std::string_view text, const TextStyle& style,
                  double below);

/// Fills `place_behind` with `background`, which nearly covers the lines there, and writes the text on it.
void write_on(Canvas& canvas, const Color& background, Point at, std::string_view text,
              const TextStyle& style, double below);

}  // namespace rematlas
