#include "app/explorer/look/themed_icon.h"

#include <QFile>
#include <QPainter>
#include <QPixmap>
#include <QPixmapCache>
#include <QSvgRenderer>

#include "app/explorer/look/theme.h"

namespace rematlas::explorer::theme {
namespace {

QByteArray recoloured(const QString& name, const QColor& color) {
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
    if (!file.open(QIODevice::ReadOnly)) return {};
    // Two colours in the files are placeholders: one for the colour of icons, one for the colour of text on
    // the main button.
    return file.readAll()
        .replace("#3d4b5c", color.name().toLatin1())
        .replace("#fefefe", on_accent.name().toLatin1());
}

}  // namespace

void ThemedIcon::paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) {
    const qreal ratio = painter->device() ? painter->device()->devicePixelRatioF() : 1;
    QPixmap drawn = pixmap(rect.size() * ratio, mode, state);
    drawn.setDevicePixelRatio(ratio);
    painter->drawPixmap(rect.topLeft(), drawn);
}

QPixmap ThemedIcon::pixmap(const QSize& size, QIcon::Mode mode, QIcon::State) {
    const QColor color = mode == QIcon::Disabled ? faint : icon_color;
    const QString key = QStringLiteral("rematlas/%1/%2/%3/%4x%5")
                            .arg(name_, color.name(), on_accent.name())
                            .arg(size.width())
                            .arg(size.height());
    QPixmap drawn;
    if (QPixmapCache::find(key, &drawn)) return drawn;
    drawn = QPixmap(size);
    drawn.fill(Qt::transparent);
    QPainter painter(&drawn);
    QSvgRenderer(recoloured(name_, color)).render(&painter);
    painter.end();
    QPixmapCache::insert(key, drawn);
    return drawn;
}

}  // namespace rematlas::explorer::theme
