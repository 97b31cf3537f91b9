// A picture over an axis of which a part is shown, for the windows beside the main one.
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
    /// Nothing while the view is empty.
    void show_all();

  protected:
    RangeView(const QString& object_name, const QString& accessible_name, QWidget* parent);

    virtual bool is_empty() const = 0;
    /// From 0 on.
    virtual double length() const = 0;
    /// Where the axis is on the screen. Only while the view is not empty.
    virtual Rect axis_area() = 0;
    /// Another part is shown, or the view has another size. Paints it.
    virtual void show_range() = 0;
    /// A click at a value of the axis.
    virtual void click(double at) = 0;

    const ShownRange& shown() const { return shown_; }
    /// At least a small part of the axis, and within it.
    void set_range(double from, double to);
    /// Moves the part that is shown to a value that it does not show.
    void bring_into_sight(double at);
    /// The keys that all such views have; `middle` is where they zoom.
    void add_range_keys(ViewKeys& keys, const std::function<double()>& middle);

    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

  private:
    void zoom_at(double at, double factor);
    double at_of(double x);

    ShownRange shown_;
};

}  // namespace rematlas::explorer
