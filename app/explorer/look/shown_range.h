// The part of an axis that a view shows, and how the wheel and a drag change it.
//
//     ShownRange shown;
//     shown.show_all(length);
//     shown.zoom(shown.at(x, plot.x, plot.width), wheel_factor(event->angleDelta().y()));
#pragma once

namespace rematlas::explorer {

/// A gesture is a click, and no drag, if the mouse moves less than this (pixels) from press to release.
inline constexpr double click_reach = 4;

class ShownRange {
  public:
    double from() const { return from_; }
    double to() const { return to_; }
    double span() const { return to_ - from_; }
    bool contains(double at) const { return at >= from_ && at <= to_; }
    bool is_all() const;

    void show_all(double length);  ///< shows all of an axis from 0 to `length`
    /// Shows this range. The range is widened if it is too small to show, and moved if it leaves the axis.
    void set(double from, double to);
    /// Zooms so that `at` keeps its place on the screen; a factor below 1 shows less.
    void zoom(double at, double factor);

    /// Returns the value of the axis at `x` on the screen. The shown part is drawn from `left` to `left +
    /// width`.
    double at(double x, double left, double width) const { return from_ + (x - left) / width * span(); }

    /// `press` must be called when the mouse button is pressed, and `drag` when the mouse moves afterwards.
    /// `drag` moves the shown part, and returns false while the movement is short enough for a click.
    void press(double x);
    bool drag(double x, double width);
    bool dragged() const { return dragged_; }

  private:
    double length_ = 1, from_ = 0, to_ = 1;
    double press_x_ = 0, press_from_ = 0;
    bool dragged_ = false;
};

/// Returns the factor of `ShownRange::zoom` for a turn of the wheel, in eighths of a degree.
double wheel_factor(int turn);

}  // namespace rematlas::explorer
