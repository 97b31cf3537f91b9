// What is held at the cursor as bars over time: the same tensors as "In memory" tells, each with its maker,
// its readers and the longest time in which nothing uses it.
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

/// Which of what is held is shown.
struct LifetimeQuestion {
    int cursor = -1;
    StepRange range = {};
    LifetimeOrder order = LifetimeOrder::bytes;
    int part = -1;           ///< of the model, as `LifetimeRows::parts`; -1: all
    TensorId always = {};    ///< has a bar, wherever it stands in the order
    std::size_t most = 200;  ///< bars; the others are summed up
};

class LifetimeRows {
  public:
    /// Of a schedule that can be played. Cost: linear in the steps and what they read.
    explicit LifetimeRows(SchedulePtr schedule);

    const LoadedSchedule& schedule() const { return *schedule_; }
    /// As the bands of the memory are called: what no op makes, the parts of the model, the workspace.
    const QStringList& parts() const { return parts_; }

    /// The bars of one part add up to what its tensors take, those of all to `Alive::total`. Cost: linear in
    /// the lifetimes.
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

/// What is told of a bar, a line each.
QString bar_tip(const LoadedSchedule& schedule, const LifetimeBars& bars, int bar);

}  // namespace rematlas::explorer
