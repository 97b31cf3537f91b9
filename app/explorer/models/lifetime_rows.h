// Makes bars over time for the tensors that are held at the cursor. The dock "In memory" lists the same
// tensors. A bar shows the op that makes the tensor, the steps that read the tensor, and the longest time in
// which no op uses the tensor.
//
//     const LifetimeRows rows(schedule);
//     const LifetimeBars bars = rows.at({.cursor = 12, .order = LifetimeOrder::bytes_by_idle});
#pragma once

#include <QStringList>

#include "app/explorer/models/alive_now.h"
#include "viz/paint/lifetimes_painter.h"
#include "viz/paint/module_groups.h"

namespace rematlas::explorer {

enum class LifetimeOrder { bytes, bytes_by_idle };

/// Says which tensors have bars, and in which order.
struct LifetimeQuestion {
    int cursor = -1;
    StepRange range = {};
    LifetimeOrder order = LifetimeOrder::bytes;
    int part = -1;           ///< index into `LifetimeRows::parts`; -1 for all parts
    TensorId always = {};    ///< a tensor that has a bar even if it is not among the first `most`
    std::size_t most = 200;  ///< maximum number of bars; the tensors without a bar are summed up
};

class LifetimeRows {
  public:
    /// It must be possible to simulate `schedule`. Cost: linear in the steps and their inputs.
    explicit LifetimeRows(SchedulePtr schedule);

    const LoadedSchedule& schedule() const { return *schedule_; }
    /// Returns the names of the bands of the memory picture: residents, the parts of the model, the
    /// workspace.
    const QStringList& parts() const { return parts_; }

    /// Returns the bars, and the sum of the bytes of the tensors without a bar. The bytes of the bars and
    /// this sum add up to all bytes of the part that `question` names. If it names no part, they add up to
    /// `Alive::total`. Cost: linear in the lifetimes.
    LifetimeBars at(const LifetimeQuestion& question) const;

  private:
    int part_of(TensorId tensor) const;
    LifetimeBar bar_of(const AliveTensor& alive) const;
    LifetimeBar workspace_at(int step, Bytes bytes) const;
    void find_idle(LifetimeBar& bar) const;

    SchedulePtr schedule_;
    TensorLifetimes lifetimes_;
    StepSpans spans_;
    ModuleGroups groups_;
    QStringList parts_;
};

/// Returns the tooltip of a bar, which has several lines.
QString bar_tip(const LoadedSchedule& schedule, const LifetimeBars& bars, int bar);

}  // namespace rematlas::explorer
