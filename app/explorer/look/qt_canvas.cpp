#include "app/explorer/look/qt_canvas.h"

#include <QPainterPath>
#include <algorithm>

#include "app/explorer/words/qt_ruler.h"
#include "app/explorer/words/wording.h"

namespace rematlas::explorer {
namespace {

QPen pen_of(const Pen& pen) {
    QPen made(to_qt(pen.color), pen.width, Qt::SolidLine, Qt::FlatCap, Qt::SvgMiterJoin);
    made.setMiterLimit(4);
    if (!pen.dash.empty()) {
        QVector<qreal> dash;  // Qt expects the lengths of dashes in units of the pen's width
        for (double length : pen.dash) dash << length / pen.width;
        made.setDashPattern(dash);
    }
    return made;
}

/// Makes a rectangle with rounded corners. The path begins at the upper right corner, as it does in cairo, so
/// that dashes are at the same places.
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

QtCanvas::QtCanvas(QPainter& painter, bool smooth) : painter_(painter) {
    painter_.setRenderHint(QPainter::Antialiasing, smooth);
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

void QtCanvas::text(Point at, std::string_view words, const TextStyle& style) {
    const double shift =
        style.align == Align::left ? 0 : text_width(words, style) * (style.align == Align::center ? 0.5 : 1);
    const QTransform before = painter_.transform();
    painter_.translate(at.x, at.y);
    if (style.upward) painter_.rotate(-90);
    painter_.scale(1 / font_scale, 1 / font_scale);
    painter_.setFont(font_for(style).font);
    painter_.setPen(to_qt(style.color));
    painter_.drawText(QPointF(-shift * font_scale, 0), explorer::text(words));
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
