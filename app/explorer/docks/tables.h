// Joins the painted views with tables of the same data, as one widget each. A selection in the picture is
// also selected in the table, and the reverse.
#pragma once

#include "app/explorer/look/picture_or_table.h"
#include "app/explorer/session/session.h"

namespace rematlas::explorer {

/// Joins `picture`, which contains the lanes, with a table of the schedule's steps.
PictureOrTable* with_steps_table(Session& session, QWidget* picture);
/// Joins `picture`, which contains the trade-off plot, with a table of the sweep's points.
PictureOrTable* with_sweep_table(Session& session, QWidget* picture);
/// Joins `picture`, which contains the flame chart, with a table of the chart's boxes.
PictureOrTable* with_flame_table(Session& session, QWidget* picture);
/// Joins `picture`, which contains the bars of the lifetimes, with a table of the lifetimes.
PictureOrTable* with_lifetimes_table(Session& session, QWidget* picture);
/// Joins `picture`, which contains the widget `graph`, with a table of the graph's items.
PictureOrTable* with_items_table(Session& session, QWidget* picture, QWidget* graph);

}  // namespace rematlas::explorer
