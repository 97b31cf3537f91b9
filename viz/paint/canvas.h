// What the painters draw on: one interface, so that a picture is the same in a window, as SVG, PNG and PDF.
//
// Units are points, in a window pixels; y grows downwards. SVG is written as text with real `<text>` and one
// tooltip per group, so that a browser can search the picture and show more than fits on an item. PNG and
// PDF come from cairo. The explorer has its own canvas over its painter.
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
    /// The colour mixed with white: 0 leaves it, 1 is white.
    constexpr Color tint(double white) const {
        return {red + (1 - red) * white, green + (1 - green) * white, blue + (1 - blue) * white, alpha};
    }
    constexpr Color shade(double black) const {
        return {red * (1 - black), green * (1 - black), blue * (1 - black), alpha};
    }
    constexpr Color faded(double a) const { return {red, green, blue, a}; }
    /// The colour with a part of another: 0 leaves it, 1 is the other.
    constexpr Color mixed(const Color& other, double part) const {
        return {red + (other.red - red) * part, green + (other.green - green) * part,
                blue + (other.blue - blue) * part, alpha + (other.alpha - alpha) * part};
    }
};

struct Pen {
    Color color;
    double width = 1;
    std::vector<double> dash = {};  ///< lengths on and off; empty: solid
};

enum class Align { left, center, right };

struct TextStyle {
    double size = 10;
    bool bold = false;
    Color color = Color::hex(0x1f2933);
    Align align = Align::left;
    bool upward = false;  ///< turned by 90 degrees, read from below
};

/// A sequence of pieces; each curve and line starts where the piece before ended.
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

/// Tells how wide text will be. All rulers measure DejaVu Sans, so that one layout serves all canvases.
class TextRuler {
  public:
    virtual ~TextRuler() = default;
    /// Width of one line.
    virtual double text_width(std::string_view text, const TextStyle& style) const = 0;
};

class Canvas : public TextRuler {
  public:
    virtual void rectangle(const Rect& rect, std::optional<Color> fill, const std::optional<Pen>& pen = {},
                           double radius = 0) = 0;
    virtual void path(const Path& path, std::optional<Color> fill, const std::optional<Pen>& pen) = 0;
    /// `at` is on the baseline.
    virtual void text(Point at, std::string_view text, const TextStyle& style) = 0;
    /// Begins a group, which `end` ends. The tooltip shows if the format can show tooltips.
    virtual void begin(std::string_view tooltip) = 0;
    virtual void end() = 0;
    virtual void clip(const Rect& rect) = 0;  ///< until `unclip`; not nested
    virtual void unclip() = 0;

    void line(Point a, Point b, const Pen& pen) { path(Path().move_to(a).line_to(b), {}, pen); }
};

/// A canvas that becomes a file.
class PictureCanvas : public Canvas {
  public:
    /// The bytes of the file. Nothing may be drawn after it.
    virtual Result<std::string> finish() = 0;
};

enum class PictureFormat { svg, png, pdf };

/// The settings of a picture that stands in a page with others.
struct SvgPlace {
    Color page = Color::hex(0xffffff);
    std::string ids = {};  ///< prefix of the picture's ids, which must differ from the others' ids
};

/// A canvas with a white page. PNG has two pixels per point, or fewer if the picture would pass 60
/// megapixels or cairo's limit of 32,767 pixels a side. PDF is scaled down if it would pass 14,400 points a
/// side.
std::unique_ptr<PictureCanvas> make_canvas(PictureFormat format, Size size, std::string_view title);
std::unique_ptr<PictureCanvas> make_svg_canvas(Size size, std::string_view title, const SvgPlace& place = {});
std::unique_ptr<PictureCanvas> make_cairo_canvas(PictureFormat format, Size size, std::string_view title);

/// The ruler of the canvases above, for sizes that are needed before there is a canvas.
const TextRuler& picture_ruler();

/// `text`, or its beginning and an ellipsis where it is wider than `width`. `middle`: both ends are kept
/// instead.
std::string fitted(const TextRuler& ruler, std::string_view text, const TextStyle& style, double width,
                   bool middle = false);

}  // namespace rematlas
