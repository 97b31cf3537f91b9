#include <cmath>
#include <cstdio>

#include "viz/paint/canvas.h"
#include "viz/paint/xml_text.h"

namespace rematlas {

namespace {

/// Returns the number with at most two decimals, because no screen or printer shows less than a hundredth of
/// a point.
std::string number(double x) {
    char text[32];
    int n = std::snprintf(text, sizeof text, "%.2f", std::abs(x) < 0.005 ? 0.0 : x);
    while (n > 0 && text[n - 1] == '0') --n;
    if (n > 0 && text[n - 1] == '.') --n;
    return std::string(text, static_cast<std::size_t>(n));
}

std::string hex(Color color) {
    char text[8];
    auto part = [](double x) {
        return static_cast<unsigned>(std::lround(std::fmin(std::fmax(x, 0), 1) * 255));
    };
    std::snprintf(text, sizeof text, "#%02x%02x%02x", part(color.red), part(color.green), part(color.blue));
    return text;
}

class SvgCanvas final : public PictureCanvas {
  public:
    SvgCanvas(Size size, std::string_view title, const SvgPlace& place) : ids_(place.ids) {
        std::string w = number(size.width), h = number(size.height);
        out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" width=\"" + w +
               "pt\" height=\"" + h + "pt\" viewBox=\"0 0 " + w + " " + h +
               "\" font-family=\"'DejaVu Sans', Verdana, sans-serif\">\n<title>" + xml_text(title) +
               "</title>\n";
        rectangle({0, 0, size.width, size.height}, place.page, {}, 0);
    }

    void rectangle(const Rect& r, std::optional<Color> fill, const std::optional<Pen>& pen,
                   double radius) override {
        out_ += "<rect x=\"" + number(r.x) + "\" y=\"" + number(r.y) + "\" width=\"" + number(r.width) +
                "\" height=\"" + number(r.height) + "\"";
        if (radius > 0) out_ += " rx=\"" + number(radius) + "\"";
        out_ += paint(fill, pen) + "/>\n";
    }

    void path(const Path& path, std::optional<Color> fill, const std::optional<Pen>& pen) override {
        out_ += "<path d=\"";
        for (const Path::Piece& piece : path.pieces()) {
            static constexpr char kLetters[] = {'M', 'L', 'C', 'Z'};
            static constexpr int kPoints[] = {1, 1, 3, 0};
            out_ += kLetters[static_cast<int>(piece.verb)];
            for (int i = 0; i < kPoints[static_cast<int>(piece.verb)]; ++i)
                out_ += (i ? " " : "") + number(piece.points[i].x) + " " + number(piece.points[i].y);
        }
        out_ += "\"" + paint(fill, pen) + "/>\n";
    }

    void text(Point at, std::string_view text, const TextStyle& style) override {
        out_ += "<text x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" font-size=\"" +
                number(style.size) + "\"";
        if (style.bold) out_ += " font-weight=\"bold\"";
        if (style.align == Align::center) out_ += " text-anchor=\"middle\"";
        if (style.align == Align::right) out_ += " text-anchor=\"end\"";
        if (style.upward) out_ += " transform=\"rotate(-90 " + number(at.x) + " " + number(at.y) + ")\"";
        // With `textLength`, the text has its planned width even in another font.
        if (text.size() > 1)
            out_ +=
                " textLength=\"" + number(text_width(text, style)) + "\" lengthAdjust=\"spacingAndGlyphs\"";
        out_ += paint(style.color, {}) + ">" + xml_text(text) + "</text>\n";
    }

    double text_width(std::string_view text, const TextStyle& style) const override {
        return picture_ruler().text_width(text, style);
    }

    void begin(std::string_view tooltip) override {
        out_ += "<g>";
        if (!tooltip.empty()) out_ += "<title>" + xml_text(tooltip) + "</title>";
        out_ += "\n";
    }
    void end() override { out_ += "</g>\n"; }

    void clip(const Rect& r) override {
        std::string id = ids_ + "clip" + std::to_string(clips_++);
        out_ += "<clipPath id=\"" + id + "\"><rect x=\"" + number(r.x) + "\" y=\"" + number(r.y) +
                "\" width=\"" + number(r.width) + "\" height=\"" + number(r.height) +
                "\"/></clipPath>\n<g clip-path=\"url(#" + id + ")\">\n";
    }
    void unclip() override { out_ += "</g>\n"; }

    Result<std::string> finish() override { return std::move(out_) + "</svg>\n"; }

  private:
    static std::string paint(std::optional<Color> fill, const std::optional<Pen>& pen) {
        std::string out = " fill=\"" + (fill ? hex(*fill) : "none") + "\"";
        if (fill && fill->alpha < 1) out += " fill-opacity=\"" + number(fill->alpha) + "\"";
        if (!pen) return out;
        out += " stroke=\"" + hex(pen->color) + "\" stroke-width=\"" + number(pen->width) + "\"";
        if (pen->color.alpha < 1) out += " stroke-opacity=\"" + number(pen->color.alpha) + "\"";
        if (pen->dash.empty()) return out;
        out += " stroke-dasharray=\"";
        for (std::size_t i = 0; i < pen->dash.size(); ++i) out += (i ? " " : "") + number(pen->dash[i]);
        return out + "\"";
    }

    std::string out_, ids_;
    int clips_ = 0;
};

}  // namespace

std::unique_ptr<PictureCanvas> make_svg_canvas(Size size, std::string_view title, const SvgPlace& place) {
    return std::make_unique<SvgCanvas>(size, title, place);
}

}  // namespace rematlas
