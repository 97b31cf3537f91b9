// The steps of a run as a picture. While all steps are shown, or the last one, new steps come into sight.
//
// Wheel: zoom at the pointer. Drag: pan. Click: put the cursor on a step. Double click: show all.
#pragma once

#include <QWidget>
#include <optional>

#include "app/explorer/look/shown_range.h"
#include "viz/paint/run_painter.h"

namespace rematlas::explorer {

class FollowedView : public QWidget {
    Q_OBJECT
  public:
    explicit FollowedView(QWidget* parent = nullptr);

    /// `run` must outlive the view or be replaced.
    void set_run(const RunSteps& run);
    /// Steps came to those there were.
    void grow();
    /// Nothing: no step is chosen.
    void set_cursor(std::optional<std::size_t> step);
    std::optional<std::size_t> cursor() const { return cursor_; }
    double from() const { return shown_.from(); }
    double to() const { return shown_.to(); }
    void show_all();
    /// Where the peaks are. Only while there are steps.
    Rect plot() const { return places_of(scene()).peaks; }
    QSize sizeHint() const override { return {1000, 360}; }
    QSize minimumSizeHint() const override { return {320, 180}; }

  signals:
    void cursor_moved();

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

  private:
    void make_keys();
    bool has_steps() const { return run_ != nullptr && !run_->steps.empty(); }
    void show_range();
    void zoom_at(double at, double factor);
    void go_by(int steps);
    RunScene scene() const;

    const RunSteps* run_ = nullptr;
    std::vector<RunColumn> columns_;
    ShownRange shown_;
    double known_steps_ = 0;  ///< when the range was set
    std::optional<std::size_t> cursor_;
};

}  // namespace rematlas::explorer
