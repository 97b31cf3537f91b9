// Implements the painters' canvas with a QPainter, so that the screen shows the same pictures as SVG, PNG and
// PDF files.
#pragma once

#include <QColor>
#include <QPainter>

#include "viz/paint/canvas.h"

namespace rematlas::explorer {

/// Draws in the painter's coordinates. The painter must be active and outlive the canvas. `smooth`
/// turns on antialiasing, which takes time and is not worth it if everything is small. `begin` and `end` do
/// nothing, because views have tooltips of their own.
class QtCanvas final : public Canvas {
  public:
    explicit QtCanvas(QPainter& painter, bool smooth = true);

    void rectangle(const Rect& rect, std::optional<Color> fill, const std::optional<Pen>& pen = {},
                   double radius = 0) override;
    void path(const Path& path, std::optional<Color> fill, const std::optional<Pen>& pen) override;
    void text(Point at, std::string_view words, const TextStyle& style) override;
    double text_width(std::string_view text, const TextStyle& style) const override;
    void begin(std::string_view) override {}
    void end() override {}
    void clip(const Rect& rect) override;
    void unclip() override;

  private:
    void use(const std::optional<Color>& fill, const std::optional<Pen>& pen);

    QPainter& painter_;
};

QColor to_qt(const Color& color);

}  // namespace rematlas::explorer
