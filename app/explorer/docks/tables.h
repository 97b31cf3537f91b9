// Joins the painted views with their tables: what is chosen in one is selected in both.
#pragma once

#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

/// Returns `picture`, which contains the lanes, with a table of steps.
PictureOrTable* with_steps_table(Session& session, QWidget* picture);
/// Returns `picture`, which contains the plot of the trade-off, with a table of points.
PictureOrTable* with_sweep_table(Session& session, QWidget* picture);
/// Returns `picture`, which contains the flame chart, with a table of its boxes.
PictureOrTable* with_flame_table(Session& session, QWidget* picture);
/// Returns `picture`, which contains the bars, with a table of lifetimes.
PictureOrTable* with_lifetimes_table(Session& session, QWidget* picture);
/// Returns `picture`, which contains `graph`, with a table of the graph's items.
PictureOrTable* with_items_table(Session& session, QWidget* picture, QWidget* graph);

}  // namespace rematlas::explorer
