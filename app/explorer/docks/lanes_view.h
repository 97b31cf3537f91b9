// The schedule over time, painted by hand: lanes of runs and copies above the curve of the memory held.
//
// Wheel: zoom at the pointer. Drag: pan. Click: put the cursor on a step and select its op. Double click:
// show all.
#pragma once

#include <QToolButton>
#include <QWidget>

#include "app/explorer/session/lane_data.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

class LanesView : public QWidget {
    Q_OBJECT
  public:
    explicit LanesView(Session& session, QWidget* parent = nullptr);

    void show_all();
    /// The shown part of the axis.
    double from() const { return from_; }
    double to() const { return to_; }
    const LaneData& data() const { return data_; }
    QSize sizeHint() const override { return {900, 290}; }
    QSize minimumSizeHint() const override { return {320, 180}; }

  protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

  private:
    void show_schedule();
    void set_axis(LaneAxis axis);
    void set_range(double from, double to);
    QRectF plot() const;  ///< right of the lane names
    QRectF lane_rect(int row) const;
    QRectF memory_rect() const;
    double x_of(double at) const;
    double at_of(double x) const;
    double y_of(std::int64_t bytes) const;
    std::vector<Lane> rows() const;
    void paint_empty(QPainter& painter) const;
    void paint_lanes(QPainter& painter) const;
    void paint_bars(QPainter& painter, Lane lane, const QRectF& rect) const;
    void paint_bar_label(QPainter& painter, const QRectF& box, OpId op) const;
    void mark_selection();
    void paint_memory(QPainter& painter) const;
    void paint_memory_curve(QPainter& painter, const QRectF& rect) const;
    void paint_line(QPainter& painter, std::int64_t bytes, const QString& label, const QColor& color,
                    bool below) const;
    void paint_axis(QPainter& painter) const;
    void paint_cursor(QPainter& painter) const;
    QString tip_at(const QPoint& position) const;

    Session& session_;
    LaneData data_;
    IdVector<OpId, char> marked_;  ///< ops of the selection; empty without one
    QToolButton* axis_button_;
    double from_ = 0, to_ = 1;
    double press_x_ = 0, press_from_ = 0;
    bool panning_ = false;
    std::int64_t top_ = 1;  ///< bytes at the upper edge of the memory plot
};

}  // namespace rematlas::explorer
