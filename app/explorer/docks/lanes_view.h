// Draws the schedule over time: lanes of runs and copies above the curve of the memory held.
//
// Wheel: zoom at the pointer. Drag: pan. Click: put the cursor on a step and select its op. Ctrl+click on a
// band of the memory curve: show the lifetimes of the band's tensors. Double click: show all.
#pragma once

#include <QToolButton>

#include "app/explorer/look/range_view.h"
#include "app/explorer/session/session.h"
#include "viz/paint/schedule_painter.h"

namespace rematlas::explorer {

class LanesView : public RangeView {
    Q_OBJECT
  public:
    explicit LanesView(Session& session);

    const LaneData& data() const { return data_; }
    /// The area of the lanes, from the end of their names to the right edge. May only be called while there
    /// is a schedule.
    Rect plot() const { return places().plot; }
    SchedulePlaces places() const { return places_of(scene()); }
    /// Returns the tooltip at a place of the picture, about a run, a copy or a wait; empty if there is none.
    QString tip_at(const QPointF& position) const;
    QSize sizeHint() const override { return {900, 290}; }
    QSize minimumSizeHint() const override { return {320, 120}; }

  signals:
    void range_changed();  ///< emitted when another part or another schedule is shown

  protected:
    bool is_empty() const override { return data_.bars.empty(); }
    double length() const override { return data_.length; }
    Rect axis_area() const override { return plot(); }
    void show_range() override;
    void click(double at, const QMouseEvent& release) override;
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

  private:
    void make_keys();
    void go_by_runs(int direction);
    double middle() const;
    void show_schedule();
    void set_axis(LaneAxis axis);
    QToolButton* corner_button(const QString& text, const QString& tip);
    void publish_range();
    Bytes budget_line() const;
    void set_hovered(int step);
    /// May only be called while there is a schedule.
    ScheduleScene scene() const;
    void paint_empty(QPainter& painter) const;
    void mark_selection();
    bool select_beside(const QPointF& position);
    QString band_at(const QPointF& position) const;
    void ask_lifetimes(const QPointF& position, const QString& band);
    QString tip_beside(DrawnLane lane, double at) const;

    Session& session_;
    LaneData data_, plain_;        ///< lanes of the schedule, and of the step without recomputation
    IdVector<OpId, char> marked_;  ///< marks the ops of the selection; empty if nothing is selected
    GraphPtr grouped_;             ///< the graph that `groups_` was made from
    ModuleGroups groups_;
    Bytes resident_;     ///< bytes that are on the device during the whole schedule
    MemoryStack stack_;  ///< memory of the schedule, divided by the parts of the model
    QToolButton *axis_button_, *modules_button_;
    int hovered_ = -1;  ///< the step under the pointer
};

}  // namespace rematlas::explorer
