// The painted views with their tables: what is chosen in one is selected in both.
#pragma once

#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

/// `picture` holds the lanes.
PictureOrTable* with_steps_table(Session& session, QWidget* picture);
/// `picture` holds the plot of the trade-off.
PictureOrTable* with_sweep_table(Session& session, QWidget* picture);
/// `picture` holds the flame chart.
PictureOrTable* with_flame_table(Session& session, QWidget* picture);
/// `picture` holds the bars.
PictureOrTable* with_lifetimes_table(Session& session, QWidget* picture);
/// `picture` holds `graph`.
PictureOrTable* with_items_table(Session& session, QWidget* picture, QWidget* graph);

}  // namespace rematlas::explorer
