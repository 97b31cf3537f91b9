// Makes bars over time of what is held at the cursor: the same tensors as in the dock "In memory", each with
// its maker, its readers and the longest time in which nothing uses it.
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

/// Which tensors have bars, and in which order.
struct LifetimeQuestion {
    int cursor = -1;
    StepRange range = {};
    LifetimeOrder order = LifetimeOrder::bytes;
    int part = -1;           ///< index into `LifetimeRows::parts`; -1: all parts
    TensorId always = {};    ///< this tensor has a bar wherever it is in the order
    std::size_t most = 200;  ///< greatest number of bars; the other tensors are summed up
};

class LifetimeRows {
  public:
    /// It must be possible to simulate `schedule`. Cost: linear in the steps and their inputs.
    explicit LifetimeRows(SchedulePtr schedule);

    const LoadedSchedule& schedule() const { return *schedule_; }
    /// The names of the bands of the memory picture: residents, the parts of the model, the workspace.
    const QStringList& parts() const { return parts_; }

    /// Returns the bars. The bars of one part and the sum of those left out add up to the bytes of the part's
    /// tensors; the bars of all parts add up to `Alive::total`. Cost: linear in the lifetimes.
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

/// Returns the tooltip of a bar, several lines.
QString bar_tip(const LoadedSchedule& schedule, const LifetimeBars& bars, int bar);

}  // namespace rematlas::explorer
