// The flame chart of a schedule, with what its boxes stand for and what is said of them.
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

/// Null without a schedule, and for one that cannot be played. Cost: linear in the steps and the module
/// paths.
FlameChartPtr flame_chart(SchedulePtr schedule);

/// The op of a run; of a module the smallest block that has all of its ops, where there is one.
Selected selected_of(const FlameChart& chart, int box);

/// The run at the cursor, if it is of the op, else the op's first run; of a block the uppermost box that lies
/// in it as a whole. -1: none.
int box_of(const FlameChart& chart, const Selected& selected, int cursor);

/// "blocks.3.attn (Attention)" or the operator with its module, then times and bytes, a line each.
QString box_tip(const FlameChart& chart, int box);

/// "3.1 ms (25.2 % of the step), 120 runs, 3 of them again (1 ms); 1.2 GiB made, at most 3.4 GiB held".
QString sums_text(const FlameChart& chart, const FlameSums& sums);

}  // namespace rematlas::explorer
