// Measured memory over the events of a trace, as a picture.
//
// Wheel: zoom at the pointer. Drag: pan. Click: put the cursor on a moment. Double click: show all.
#pragma once

#include <QWidget>
#include <optional>

#include "app/explorer/loaded/loaded_schedule.h"
#include "app/explorer/loaded/measurement.h"
#include "app/explorer/look/shown_range.h"
#include "viz/paint/measured_painter.h"

namespace rematlas::explorer {

class MeasuredView : public QWidget {
    Q_OBJECT
  public:
    explicit MeasuredView(QWidget* parent = nullptr);

    /// Shows all of the device, with the cursor at its peak.
    void set_device(MeasurementPtr measurement, std::size_t device);
    /// Whose memory is laid over the measured one; null: none.
    void set_plan(const SchedulePtr& plan);
    void set_cursor(TraceMoment moment);
    TraceMoment cursor() const { return cursor_; }
    double from() const { return shown_.from(); }
    double to() const { return shown_.to(); }
    bool has_plan() const { return !plan_.empty(); }
    /// Where moments are. Only while there is a measurement.
    Rect plot();
    void show_all();
    QSize sizeHint() const override { return {1000, 360}; }
    QSize minimumSizeHint() const override { return {320, 160}; }

  signals:
    void cursor_moved();

  protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;

  private:
    void make_keys();
    void lay_plan();
    void zoom_at(double at, double factor);
    void go_by_events(int count);
    const MeasuredBands& bands() const { return measurement_->bands[device_]; }
    MeasuredScene scene();

    MeasurementPtr measurement_;
    std::size_t device_ = 0;
    std::vector<std::int64_t> planned_;  ///< bytes for each step of the plan
    std::vector<MemoryPoint> plan_;
    ShownRange shown_;
    TraceMoment cursor_ = 0;
    std::vector<std::int64_t> legend_;  ///< at the cursor
    BandColumns columns_;               ///< of what was painted last
    double columns_from_ = -1, columns_to_ = -1;
    int columns_width_ = -1;
};

}  // namespace rematlas::explorer
