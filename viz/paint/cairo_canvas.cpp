#include <cairo-pdf.h>
#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "viz/paint/canvas.h"

namespace rematlas {

namespace {

constexpr double kPixelsPerPoint = 2;
constexpr double kLargestSide = 32'000;
constexpr double kMostPixels = 60e6;
constexpr double kLargestPage = 14'400;  // points for each side; PDF readers do not accept more

cairo_status_t append(void* out, const unsigned char* bytes, unsigned int n) {
    static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), n);
    return CAIRO_STATUS_SUCCESS;
}

/// Sets a font whose widths do not depend on the resolution, so that one layout can be used for all formats.
void choose_font(cairo_t* cairo, const TextStyle& style) {
    cairo_select_font_face(cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo, style.size);
    cairo_font_options_t* options = cairo_font_options_create();
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_set_font_options(cairo, options);
    cairo_font_options_destroy(options);
}

/// Returns a context for measuring text, with a surface of one pixel. Each thread has its own context,
/// because cairo contexts must not be shared.
cairo_t* measuring() {
    struct Context {
        cairo_surface_t* surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
        cairo_t* cairo = cairo_create(surface);
        Context() = default;
        Context(const Context&) = delete;
        Context& operator=(const Context&) = delete;
        ~Context() {
            cairo_destroy(cairo);
            cairo_surface_destroy(surface);
        }
    };
    static thread_local Context context;
    return context.cairo;
}

class CairoRuler final : public TextRuler {
  public:
    double text_width(std::string_view text, const TextStyle& style) const override {
        choose_font(measuring(), style);
        cairo_text_extents_t extents;
        cairo_text_extents(measuring(), std::string(text).c_str(), &extents);
        return extents.x_advance;
    }
};

class CairoCanvas final : public PictureCanvas {
  public:
    CairoCanvas(PictureFormat format, Size size, std::string_view title) : format_(format) {
        if (format == PictureFormat::pdf) {
            double scale = std::min(1.0, kLargestPage / std::max(size.width, size.height));
            surface_ =
                cairo_pdf_surface_create_for_stream(append, &out_, size.width * scale, size.height * scale);
            cairo_pdf_surface_set_metadata(surface_, CAIRO_PDF_METADATA_TITLE, std::string(title).c_str());
            // The date is fixed, so that equal pictures give equal files.
            cairo_pdf_surface_set_metadata(surface_, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
            cairo_ = cairo_create(surface_);
            cairo_scale(cairo_, scale, scale);
        } else {
            double scale = std::min({kPixelsPerPoint, kLargestSide / std::max(size.width, size.height),
                                     std::sqrt(kMostPixels / (size.width * size.height))});
            surface_ = cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                                  static_cast<int>(std::ceil(size.width * scale)),
                                                  static_cast<int>(std::ceil(size.height * scale)));
            cairo_ = cairo_create(surface_);
            cairo_scale(cairo_, scale, scale);
        }
        cairo_set_source_rgb(cairo_, 1, 1, 1);
        cairo_paint(cairo_);
    }
    CairoCanvas(const CairoCanvas&) = delete;
    CairoCanvas& operator=(const CairoCanvas&) = delete;
    ~CairoCanvas() override {
        cairo_destroy(cairo_);
        cairo_surface_destroy(surface_);
    }

    void rectangle(const Rect& r, std::optional<Color> fill, const std::optional<Pen>& pen,
                   double radius) override {
        cairo_new_path(cairo_);
        radius = std::min({radius, r.width / 2, r.height / 2});
        if (radius > 0) {
            constexpr double kQuarter = std::numbers::pi / 2;
            cairo_arc(cairo_, r.x + r.width - radius, r.y + radius, radius, -kQuarter, 0);
            cairo_arc(cairo_, r.x + r.width - radius, r.y + r.height - radius, radius, 0, kQuarter);
            cairo_arc(cairo_, r.x + radius, r.y + r.height - radius, radius, kQuarter, 2 * kQuarter);
            cairo_arc(cairo_, r.x + radius, r.y + radius, radius, 2 * kQuarter, 3 * kQuarter);
            cairo_close_path(cairo_);
        } else {
            cairo_rectangle(cairo_, r.x, r.y, r.width, r.height);
        }
        paint(fill, pen);
    }

    void path(const Path& path, std::optional<Color> fill, const std::optional<Pen>& pen) override {
        cairo_new_path(cairo_);
        for (const auto& [verb, p] : path.pieces()) {
            switch (verb) {
                case Path::Verb::move:
                    cairo_move_to(cairo_, p[0].x, p[0].y);
                    break;
                case Path::Verb::line:
                    cairo_line_to(cairo_, p[0].x, p[0].y);
                    break;
                case Path::Verb::curve:
                    cairo_curve_to(cairo_, p[0].x, p[0].y, p[1].x, p[1].y, p[2].x, p[2].y);
                    break;
                case Path::Verb::close:
                    cairo_close_path(cairo_);
                    break;
            }
        }
        paint(fill, pen);
    }

    void text(Point at, std::string_view text, const TextStyle& style) override {
        cairo_save(cairo_);
        cairo_translate(cairo_, at.x, at.y);
        if (style.upward) cairo_rotate(cairo_, -std::numbers::pi / 2);
        double shift = style.align == Align::left
                           ? 0
                           : text_width(text, style) * (style.align == Align::center ? 0.5 : 1);
        choose_font(cairo_, style);
        use(style.color);
        cairo_move_to(cairo_, -shift, 0);
        cairo_show_text(cairo_, std::string(text).c_str());
        cairo_restore(cairo_);
    }

    double text_width(std::string_view text, const TextStyle& style) const override {
        return picture_ruler().text_width(text, style);
    }

    void begin(std::string_view) override {}
    void end() override {}
    void clip(const Rect& r) override {
        cairo_save(cairo_);
        cairo_rectangle(cairo_, r.x, r.y, r.width, r.height);
        cairo_clip(cairo_);
    }
    void unclip() override { cairo_restore(cairo_); }

    Result<std::string> finish() override {
        cairo_status_t status = cairo_status(cairo_);
        if (format_ == PictureFormat::png && status == CAIRO_STATUS_SUCCESS)
            status = cairo_surface_write_to_png_stream(surface_, append, &out_);
        cairo_surface_finish(surface_);
        if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface_);
        if (status != CAIRO_STATUS_SUCCESS)
            return Error{std::string("picture: ") + cairo_status_to_string(status)};
        return std::move(out_);
    }

  private:
    void use(Color c) { cairo_set_source_rgba(cairo_, c.red, c.green, c.blue, c.alpha); }

    void paint(std::optional<Color> fill, const std::optional<Pen>& pen) {
        if (fill) {
            use(*fill);
            cairo_fill_preserve(cairo_);
        }
        if (pen) {
            use(pen->color);
            cairo_set_line_width(cairo_, pen->width);
            cairo_set_dash(cairo_, pen->dash.data(), static_cast<int>(pen->dash.size()), 0);
            cairo_stroke_preserve(cairo_);
        }
        cairo_new_path(cairo_);
    }

    PictureFormat format_;
    std::string out_;
    cairo_surface_t* surface_ = nullptr;
    cairo_t* cairo_ = nullptr;
};

}  // namespace

std::unique_ptr<PictureCanvas> make_canvas(PictureFormat format, Size size, std::string_view title) {
    if (format == PictureFormat::svg) return make_svg_canvas(size, title);
    return std::make_unique<CairoCanvas>(format, size, title);
}

const TextRuler& picture_ruler() {
    static const CairoRuler ruler;
    return ruler;
}

}  // namespace rematlas
