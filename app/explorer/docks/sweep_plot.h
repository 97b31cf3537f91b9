// The picture of the trade-off dock. It shows the session's sweep and budget, and the plan that is shown.
//
// Wheel: zoom at the pointer. Drag: pan. Double click: show all. Click on a point: emits `chosen`. Arrow
// keys: go from point to point. Enter: emits `chosen`.
#pragma once

#include <QWidget>
#include <optional>

#include "app/explorer/session/session.h"
#include "viz/paint/sweep_painter.h"

namespace rematlas::explorer {

class SweepPlot : public QWidget {
    Q_OBJECT
  public:
    explicit SweepPlot(Session& session);

    void show_all();
    /// The part that is shown. The wheel, dragging and `show_all` change it.
    SweepRange range() const;
    /// Returns the point nearest to a place, or nullopt if no point is within a click's reach.
    std::optional<SweepMarker> nearest(const QPointF& position) const;

    /// Moves the keyboard's position. `along`: to the next point of the curve (+1) or the previous one (-1).
    /// `across`: to the next curve (+1) or the previous one (-1). The other argument is 0.
    void walk(int along, int across);

  signals:
    void chosen(const QPointF& position);
    void walked(int curve, int point);  ///< emitted when a key has moved to this point

  protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

  private:
    SweepScene scene() const;
    void make_keys();
    void choose_walked();
    void pan(const QPointF& position);
    void hover(const QPointF& position, const QPoint& global);

    Session& session_;
    std::optional<SweepRange> range_;  ///< the shown part; nullopt if everything is shown
    SweepRange press_range_;
    QPointF press_;
    bool panning_ = false;
    int hovered_curve_ = -1, hovered_point_ = -1;
};

}  // namespace rematlas::explorer
