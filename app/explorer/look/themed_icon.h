// Icons in the colours of the theme. An icon gets its colours when it is painted, so it follows a change of
// the theme.
#pragma once

#include <QIconEngine>
#include <QString>

namespace rematlas::explorer::theme {

/// An icon from a file in `:/icons`. The placeholder colours of the file are replaced by colours of the
/// theme.
class ThemedIcon : public QIconEngine {
  public:
    explicit ThemedIcon(QString name) : name_(std::move(name)) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override;
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override;
    QIconEngine* clone() const override { return new ThemedIcon(name_); }

  private:
    QString name_;
};

}  // namespace rematlas::explorer::theme
