#include "app/explorer/window/view_picture.h"

#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>

#include "app/explorer/look/theme.h"
#include "core/base/files.h"
#include "viz/paint/draw.h"

namespace rematlas::explorer {
namespace {

void paint(GraphView& view, QPaintDevice& device, const QSizeF& size) {
    const theme::WhitePaper white;
    QPainter painter(&device);
    view.render(&painter, QRectF(QPointF(0, 0), size), view.viewport()->rect());
}

void write_svg(GraphView& view, QIODevice& out) {
    QSvgGenerator generator;
    generator.setOutputDevice(&out);
    generator.setSize(view.viewport()->size());
    generator.setViewBox(QRect(QPoint(0, 0), view.viewport()->size()));
    paint(view, generator, view.viewport()->size());
}

void write_pdf(GraphView& view, QIODevice& out) {
    QPdfWriter writer(&out);
    writer.setPageSize(QPageSize(QSizeF(view.viewport()->size()) * 0.75, QPageSize::Point));
    writer.setPageMargins(QMarginsF());
    paint(view, writer, QSizeF(writer.width(), writer.height()));
}

void write_png(GraphView& view, QIODevice& out) {
    QImage image(view.viewport()->size() * 2, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::white);
    paint(view, image, image.size());
    image.save(&out, "PNG");
}

}  // namespace

Result<void> write_view_picture(GraphView& view, const std::filesystem::path& path) {
    if (Result<void> known = check_picture_path(path); !known) return known;
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    const QString ending = QString::fromStdString(path.extension().string()).toLower();
    (ending == ".svg" ? write_svg : ending == ".pdf" ? write_pdf : write_png)(view, buffer);
    return write_file(path, buffer.data().toStdString());
}

}  // namespace rematlas::explorer
