// Draws the runs of the step over time as nested boxes: phases at the top, below them modules, below them
// ops.
//
// Wheel, W, S: zoom. Drag, A, D: pan. Click: select the op or the block. Double click: zoom to the box;
// outside of the boxes: show all. Drag on the ruler or with Shift: choose a span that is summed up. Without a
// schedule the view shows the step without recomputation.
#pragma once

#include <QAbstractScrollArea>
#include <optional>
#include <utility>

#include "app/explorer/look/shown_range.h"
#include "app/explorer/models/flame_chart.h"
#include "app/explorer/session/session.h"
#include "viz/paint/flame_painter.h"

namespace rematlas::explorer {

class FlameView : public QAbstractScrollArea {
    Q_OBJECT
  public:
    explicit FlameView(Session& session);

    /// Returns null if there is nothing to show.
    const FlameChartPtr& chart() const { return chart_; }
    double from() const { return shown_.from(); }
    double to() const { return shown_.to(); }
    int focused() const { return focused_; }  ///< the box with the keyboard's focus; -1: none
    /// The first and the last run of the span that is summed up; nullopt if no span is chosen.
    const std::optional<std::pair<int, int>>& span() const { return span_; }
    /// May only be called while there is a chart.
    FlameScene scene() const;
    /// Selects the op or block of the box in all views.
    void choose(int box);
    void zoom_to(int box);
    /// Returns the sums of the span, or of the whole step if no span is chosen; empty without a chart.
    QString sums() const;
    QString tip_at(const QPointF& position) const;
    QSize sizeHint() const override { return {900, 250}; }
    QSize minimumSizeHint() const override { return {300, 90}; }

  signals:
    void chart_changed();
    void span_changed();
    void focus_moved(int box);

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
    enum class Grip { none, pan, span };
    void make_keys();
    void show_step();
    void follow_selection();
    void follow_range();
    void show_all();
    void leave();
    void zoom_at(double at, double factor);
    void pan(double share);
    double zoom_middle() const;
    double at_of(double x) const;
    int box_under(const QPointF& position) const;
    void drag_to(const QPointF& position);
    void click(const QPointF& position, bool with_shift);
    void set_focused(int box);
    void walk(int sideways, int down);
    void walk_span(int sideways);
    void set_span(std::optional<std::pair<int, int>> span);
    void set_hovered(int box);
    void fit_rows();
    void show_level(int level);
    double row_height() const;

    Session& session_;
    FlameChartPtr chart_;
    IdVector<OpId, char> marked_;  ///< marks the ops of the selection; empty if nothing is selected
    ShownRange shown_;
    std::optional<std::pair<int, int>> span_;
    int focused_ = -1, hovered_ = -1;
    int anchor_ = -1;  ///< the box at which the keys began to choose a span; -1: none
    Grip grip_ = Grip::none;
    QPointF press_;
    bool dragged_ = false;
    int press_level_ = 0;             ///< level of the topmost row in view when the button was pressed
    std::optional<QPointF> pointer_;  ///< where the pointer is, if it is over the view
};

}  // namespace rematlas::explorer
