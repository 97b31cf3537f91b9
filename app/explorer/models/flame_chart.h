// The flame chart of a schedule, with the selections and the tooltips of its boxes.
#pragma once

#include <QString>
#include <memory>

#include "app/explorer/loaded/loaded_schedule.h"
#include "viz/paint/flame_data.h"

namespace rematlas::explorer {

struct FlameChart {
    SchedulePtr schedule;
    FlameData data;
};
using FlameChartPtr = std::shared_ptr<const FlameChart>;

/// Makes the chart. Returns null if there is no schedule or it cannot be simulated. Cost: linear in the steps
/// and the module paths.
FlameChartPtr flame_chart(SchedulePtr schedule);

/// Returns the op or block that a click on the box selects. For the box of a run, this is the op. For the box
/// of a module, it is a block that contains all ops of the box, if possible the block of this module.
Selected selected_of(const FlameChart& chart, int box);

/// Returns the box of the selection; -1 if there is none. For an op this is the box of a run: the run at the
/// cursor if the cursor is at a run of the op, else the op's first run. For a block it is the uppermost box
/// whose ops are all in the block. If an op of the block runs at the cursor, only boxes that contain this run
/// count.
int box_of(const FlameChart& chart, const Selected& selected, int cursor);

/// Returns the tooltip of a box: "blocks.3.attn (Attention)", or the operator with its module, followed by
/// lines with times and bytes.
QString box_tip(const FlameChart& chart, int box);

/// Returns for example "3.1 ms (25.2 % of the step), 120 runs, 3 of them again (1 ms); 1.2 GiB made, at most
/// 3.4 GiB held".
QString sums_text(const FlameChart& chart, const FlameSums& sums);

}  // namespace rematlas::explorer
