// The whole step in a narrow strip below the lanes: drag over it to choose the part that they show, drag that part to
// move it, or one of its ends. Double click: show all.
#pragma once

#include <QWidget>

#include "app/explorer/docks/lanes_view.h"
#include "viz/paint/overview_painter.h"

namespace rematlas::explorer {

class RangeBrush : public QWidget {
    Q_OBJECT
  public:
    explicit RangeBrush(LanesView& lanes, QWidget* parent = nullptr);

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
    double press_ = 0;          ///< of the axis, where the drag began
    double from_ = 0, to_ = 0;  ///< what was shown then
};

}  // namespace rematlas::explorer
