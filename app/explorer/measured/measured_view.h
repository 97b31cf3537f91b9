// Shows measured memory over the events of a trace.
#pragma once

#include "app/explorer/loaded/loaded_schedule.h"
#include "app/explorer/loaded/measurement.h"
#include "app/explorer/look/range_view.h"
#include "viz/paint/measured_painter.h"

namespace rematlas::explorer {

class MeasuredView : public RangeView {
    Q_OBJECT
  public:
    MeasuredView();

    /// Shows the whole measurement of the device, with the cursor at its peak.
    void set_device(MeasurementPtr measurement, std::size_t device);
    /// Sets the plan whose memory is drawn over the measured memory. If `plan` is null, no plan is drawn.
    void set_plan(const SchedulePtr& plan);
    void set_cursor(TraceMoment moment);
    TraceMoment cursor() const { return cursor_; }
    bool has_plan() const { return !plan_.empty(); }
    /// The area in which the moments are drawn. May only be called while there is a measurement.
    Rect plot() const;
    QSize sizeHint() const override { return {1000, 360}; }
    QSize minimumSizeHint() const override { return {320, 160}; }

  signals:
    void cursor_moved();

  protected:
    bool is_empty() const override { return !measurement_; }
    double length() const override { return bands().length(); }
    Rect axis_area() const override { return plot(); }
    void show_range() override;
    void click(double at, const QMouseEvent& release) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    void lay_plan();
    void go_by_events(int count);
    const MeasuredBands& bands() const { return measurement_->bands[device_]; }
    MeasuredScene scene() const;

    MeasurementPtr measurement_;
    std::size_t device_ = 0;
    std::vector<std::int64_t> planned_;  ///< bytes held during each step of the plan
    std::vector<MemoryPoint> plan_;
    TraceMoment cursor_ = 0;
    std::vector<std::int64_t> legend_;  ///< bytes of each band at the cursor
    mutable BandColumns columns_;       ///< columns of the last painted picture
    mutable double columns_from_ = -1, columns_to_ = -1;
    mutable int columns_width_ = -1;
};

}  // namespace rematlas::explorer
