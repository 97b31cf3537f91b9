// Shows the whole step in a narrow strip below the lanes. Drag over the strip to choose the part that the
// lanes show. Drag inside the part to move it, or drag one of its ends. Double click: show all.
#pragma once

#include <QWidget>

#include "app/explorer/docks/lanes_view.h"
#include "viz/paint/overview_painter.h"

namespace rematlas::explorer {

class RangeBrush : public QWidget {
    Q_OBJECT
  public:
    explicit RangeBrush(LanesView& lanes);

    QSize sizeHint() const override { return {900, 38}; }
    QSize minimumSizeHint() const override { return {320, 38}; }

  protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

  private:
    enum class Grip { none, begin, end, part, anew };
    OverviewScene scene() const;
    Grip grip_at(double x) const;
    double at_of(double x) const;

    LanesView& lanes_;
    Grip grip_ = Grip::none;
    double press_ = 0;          ///< where the drag began, on the axis
    double from_ = 0, to_ = 0;  ///< the part that the lanes showed when the drag began
};

}  // namespace rematlas::explorer
