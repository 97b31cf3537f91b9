// Draws two plans one above the other on one time axis. A cursor in each plan marks the same run.
//
// Wheel: zoom at the pointer. Drag: pan. Click: select the op that runs there. Double click: show all.
#pragma once

#include <algorithm>

#include "app/explorer/look/range_view.h"
#include "app/explorer/session/session.h"
#include "viz/paint/compare_painter.h"

namespace rematlas::explorer {

class ComparePicture : public RangeView {
    Q_OBJECT
  public:
    explicit ComparePicture(Session& session);

    QSize sizeHint() const override { return {700, 320}; }
    QSize minimumSizeHint() const override { return {300, 90}; }
    /// May only be called while something is compared.
    CompareScene scene() const;

  protected:
    bool is_empty() const override { return !compared_; }
    double length() const override { return std::max(a_.length, b_.length); }
    Rect axis_area() const override { return places_of(scene()).memory; }
    void show_range() override { update(); }
    void click(double at, const QMouseEvent& release) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    void show_compared();
    void follow_range();
    void mark_selection();
    /// Returns the step of B that was clicked, else the step of B that corresponds to the cursor's step of A;
    /// -1 if there is none.
    int cursor_in_b() const;

    Session& session_;
    ComparedPtr compared_;
    LaneData a_, b_, alone_a_, alone_b_;
    IdVector<OpId, char> marked_;
    int cursor_b_ = -1;  ///< the step that was clicked in B; -1 if the cursor of A is used
};

}  // namespace rematlas::explorer
