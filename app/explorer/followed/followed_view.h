// Shows the steps of a run as a picture. If all steps or the last step are in view, the view follows the run:
// new steps appear.
#pragma once

#include <optional>

#include "app/explorer/look/range_view.h"
#include "viz/paint/run_painter.h"

namespace rematlas::explorer {

class FollowedView : public RangeView {
    Q_OBJECT
  public:
    FollowedView();

    /// `run` must live until the view is destroyed or has another run.
    void set_run(const RunSteps& run);
    /// Called when the run has new steps.
    void grow();
    /// Puts the cursor on a step. If `step` is nullopt, no step is chosen.
    void set_cursor(std::optional<std::size_t> step);
    std::optional<std::size_t> cursor() const { return cursor_; }
    /// The area in which the peaks are drawn. May only be called while there are steps.
    Rect plot() const { return places_of(scene()).peaks; }
    QSize sizeHint() const override { return {1000, 360}; }
    QSize minimumSizeHint() const override { return {320, 180}; }

  signals:
    void cursor_moved();

  protected:
    bool is_empty() const override { return !has_steps(); }
    double length() const override { return known_steps_; }
    Rect axis_area() const override { return plot(); }
    void show_range() override;
    void click(double at, const QMouseEvent& release) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    bool has_steps() const { return run_ != nullptr && !run_->steps.empty(); }
    void go_by(int steps);
    RunScene scene() const;

    const RunSteps* run_ = nullptr;
    std::vector<RunColumn> columns_;
    double known_steps_ = 0;  ///< number of steps when the shown range was set
    std::optional<std::size_t> cursor_;
};

}  // namespace rematlas::explorer
