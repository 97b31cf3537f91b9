// Draws the tensors that are held at the cursor as bars, with a vertical line at the cursor.
//
// Click on a mark: the cursor goes to that step. Click elsewhere on a row: the op that makes the tensor is
// selected. Wheel: scroll; with Ctrl zoom. Drag: move. Double click: show all.
#pragma once

#include <QAbstractScrollArea>

#include "app/explorer/look/shown_range.h"
#include "app/explorer/session/session.h"
#include "viz/paint/lifetimes_painter.h"

namespace rematlas::explorer {

class LifetimesPicture : public QAbstractScrollArea {
    Q_OBJECT
  public:
    explicit LifetimesPicture(Session& session);

    /// Sets the bars of the schedule that is shown. The highlighted bar stays highlighted if its tensor is
    /// among the new bars.
    void set_bars(const LifetimeBars& bars);
    const LifetimeBars& bars() const { return bars_; }
    int current() const { return current_; }  ///< the highlighted bar; -1: none
    void set_current(int bar);
    /// Highlights the tensor's bar and scrolls it towards the middle of the view. Does nothing if the tensor
    /// has no bar.
    void show_tensor(TensorId tensor);
    LifetimesScene scene() const;
    QString tip_at(const QPointF& position) const;
    double from() const { return shown_.from(); }
    double to() const { return shown_.to(); }
    QSize sizeHint() const override { return {900, 250}; }
    QSize minimumSizeHint() const override { return {280, 80}; }

  signals:
    void current_moved(int bar);

  protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool viewportEvent(QEvent* event) override;

  private:
    void make_keys();
    void follow_selection();
    void select_maker();
    void go_to_step(int step);
    void go_by_uses(int direction);
    void walk(int direction);
    void show_all();
    void zoom(double factor);
    void pan(double share);
    void fit_rows();
    bool is_empty() const { return bars_.step < 0; }

    Session& session_;
    LifetimeBars bars_;
    int current_ = -1;
    ShownRange shown_;
    QPointF press_;
    int press_scroll_ = 0;
    bool pressed_ = false, dragged_ = false;
};

}  // namespace rematlas::explorer
