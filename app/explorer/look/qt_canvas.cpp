#include "app/explorer/look/qt_canvas.h"

#include <QFont>
#include <QFontMetricsF>
#include <QPainterPath>
#include <map>

namespace rematlas::explorer {
namespace {

/// Qt rounds the sizes of fonts to whole pixels; halves come from a font of twice the size, drawn at half of
/// it.
constexpr double font_scale = 2;

struct SizedFont {
    QFont font;
    QFontMetricsF metrics;
};

const SizedFont& font_for(const TextStyle& style) {
    static std::map<std::pair<int, bool>, SizedFont> fonts;
    const std::pair key(qRound(style.size * font_scale), style.bold);
    const auto found = fonts.find(key);
    if (found != fonts.end()) return found->second;
    QFont font("DejaVu Sans");
    font.setStyleHint(QFont::SansSerif);
    font.setPixelSize(std::max(1, key.first));
    font.setBold(style.bold);
    font.setHintingPreference(QFont::PreferNoHinting);
    return fonts.emplace(key, SizedFont{font, QFontMetricsF(font)}).first->second;
}

QString qt_text(std::string_view utf8) {
    return QString::fromUtf8(utf8.data(), static_cast<int>(utf8.size()));
}

double width_of(const QString& text, const TextStyle& style) {
    return font_for(style).metrics.horizontalAdvance(text) / font_scale;
}

class QtRuler final : public TextRuler {
  public:
    double text_width(std::string_view text, const TextStyle& style) const override {
        return width_of(qt_text(text), style);
    }
};

QPen pen_of(const Pen& pen) {
    QPen made(to_qt(pen.color), pen.width, Qt::SolidLine, Qt::FlatCap, Qt::SvgMiterJoin);
    made.setMiterLimit(4);
    if (!pen.dash.empty()) {
        QVector<qreal> dash;  // Qt counts in widths of the pen
        for (double length : pen.dash) dash << length / pen.width;
        made.setDashPattern(dash);
    }
    return made;
}

/// Begins at the upper right corner, as cairo's does: dashes fall on the same places.
QPainterPath rounded(const Rect& r, double radius) {
    const double size = 2 * radius, right = r.x + r.width - size, bottom = r.y + r.height - size;
    QPainterPath path;
    path.moveTo(right + radius, r.y);
    path.arcTo(right, r.y, size, size, 90, -90);
    path.arcTo(right, bottom, size, size, 0, -90);
    path.arcTo(r.x, bottom, size, size, 270, -90);
    path.arcTo(r.x, r.y, size, size, 180, -90);
    path.closeSubpath();
    return path;
}

QPointF qt_point(const Point& p) {
    return {p.x, p.y};
}
QRectF qt_rect(const Rect& r) {
    return {r.x, r.y, r.width, r.height};
}

}  // namespace

QColor to_qt(const Color& color) {
    return QColor::fromRgbF(color.red, color.green, color.blue, color.alpha);
}

const TextRuler& qt_ruler() {
    static const QtRuler ruler;
    return ruler;
}

QtCanvas::QtCanvas(QPainter& painter) : painter_(painter) {
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setRenderHint(QPainter::TextAntialiasing);
}

void QtCanvas::use(const std::optional<Color>& fill, const std::optional<Pen>& pen) {
    painter_.setBrush(fill ? QBrush(to_qt(*fill)) : QBrush(Qt::NoBrush));
    painter_.setPen(pen ? pen_of(*pen) : QPen(Qt::NoPen));
}

void QtCanvas::rectangle(const Rect& rect, std::optional<Color> fill, const std::optional<Pen>& pen,
                         double radius) {
    if (fill && !pen && radius <= 0) {
        painter_.fillRect(qt_rect(rect), to_qt(*fill));
        return;
    }
    use(fill, pen);
    radius = std::min({radius, rect.width / 2, rect.height / 2});
    if (radius > 0)
        painter_.drawPath(rounded(rect, radius));
    else
        painter_.drawRect(qt_rect(rect));
}

void QtCanvas::path(const Path& path, std::optional<Color> fill, const std::optional<Pen>& pen) {
    QPainterPath made;
    made.setFillRule(Qt::WindingFill);
    for (const auto& [verb, p] : path.pieces()) {
        switch (verb) {
            case Path::Verb::move:
                made.moveTo(qt_point(p[0]));
                break;
            case Path::Verb::line:
                made.lineTo(qt_point(p[0]));
                break;
            case Path::Verb::curve:
                made.cubicTo(qt_point(p[0]), qt_point(p[1]), qt_point(p[2]));
                break;
            case Path::Verb::close:
                made.closeSubpath();
                break;
        }
    }
    use(fill, pen);
    painter_.drawPath(made);
}

void QtCanvas::text(Point at, std::string_view text, const TextStyle& style) {
    const QString line = qt_text(text);
    const double shift =
        style.align == Align::left ? 0 : width_of(line, style) * (style.align == Align::center ? 0.5 : 1);
    const QTransform before = painter_.transform();
    painter_.translate(at.x, at.y);
    if (style.upward) painter_.rotate(-90);
    painter_.scale(1 / font_scale, 1 / font_scale);
    painter_.setFont(font_for(style).font);
    painter_.setPen(to_qt(style.color));
    painter_.drawText(QPointF(-shift * font_scale, 0), line);
    painter_.setTransform(before);
}

double QtCanvas::text_width(std::string_view text, const TextStyle& style) const {
    return qt_ruler().text_width(text, style);
}

void QtCanvas::clip(const Rect& rect) {
    painter_.save();
    painter_.setClipRect(qt_rect(rect), Qt::IntersectClip);
}

void QtCanvas::unclip() {
    painter_.restore();
}

}  // namespace rematlas::explorer
