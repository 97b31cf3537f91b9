// Joins the painted views with their tables. A selection in the picture is also selected in the table, and
// the reverse.
#pragma once

#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

/// Returns `picture`, which contains the lanes, with a table of steps.
PictureOrTable* with_steps_table(Session& session, QWidget* picture);
/// Returns `picture`, which contains the trade-off plot, with a table of points.
PictureOrTable* with_sweep_table(Session& session, QWidget* picture);
/// Returns `picture`, which contains the flame chart, with a table of its boxes.
PictureOrTable* with_flame_table(Session& session, QWidget* picture);
/// Returns `picture`, which contains the bars of the tensors that are held, with a table of lifetimes.
PictureOrTable* with_lifetimes_table(Session& session, QWidget* picture);
/// Returns `picture`, which contains `graph`, with a table of the graph's items.
PictureOrTable* with_items_table(Session& session, QWidget* picture, QWidget* graph);

}  // namespace rematlas::explorer
