// A view that shows a picture over a part of an axis.
//
// Wheel: zoom at the pointer. Drag: pan. Click: put the cursor there. Double click: show all.
#pragma once

#include <QWidget>

#include "app/explorer/look/shown_range.h"
#include "app/explorer/look/view_keys.h"
#include "viz/paint/canvas.h"

namespace rematlas::explorer {

class RangeView : public QWidget {
    Q_OBJECT
  public:
    double from() const { return shown_.from(); }
    double to() const { return shown_.to(); }
    /// Shows the whole axis. Does nothing while the view is empty.
    void show_all();
    /// Shows this range. The range is widened if it is too small to show, and moved if it leaves the axis.
    void set_range(double from, double to);

  protected:
    RangeView(const QString& object_name, const QString& accessible_name);

    virtual bool is_empty() const = 0;
    /// Returns the length of the axis. The axis begins at 0.
    virtual double length() const = 0;
    /// Returns the area of the axis on the screen. May only be called while the view is not empty.
    virtual Rect axis_area() const = 0;
    /// Called when another part is shown or the view's size has changed. Must repaint the view.
    virtual void show_range() = 0;
    /// Called for a click at a value of the axis. `release` is the event in which the button was released.
    virtual void click(double at, const QMouseEvent& release) = 0;

    const ShownRange& shown() const { return shown_; }
    /// Shows the whole axis, even if the view is empty.
    void reset_range();
    /// Returns the value of the axis at `x` on the screen. May only be called while the view is not empty.
    double at_of(double x) const;
    /// If the value is not shown, moves the shown part so that the value is in its middle.
    void bring_into_sight(double at);
    /// Adds the keys that all views of this class have. When a key zooms, the value that `middle` returns
    /// keeps its place. If `middle` is empty, no key zooms. `click` tells what a click does. If `click` is
    /// empty, a click puts the cursor there.
    void add_range_keys(ViewKeys& keys, const std::function<double()>& middle, const QString& click = {});
    /// Lists the gestures that all views of this class have, without the click.
    void tell_gestures(ViewKeys& keys);

    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

  private:
    void zoom_at(double at, double factor);

    ShownRange shown_;
};

}  // namespace rematlas::explorer
