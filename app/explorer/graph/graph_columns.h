// Cuts a tall drawing into columns side by side, as in a newspaper, so that all of a long graph is seen at a
// readable size.
//
// "Layout" coordinates are those of the drawing before it is cut; "scene" coordinates are those of the
// columns.
#pragma once

#include <QPointF>
#include <QRectF>
#include <vector>

#include "viz/layout/layout.h"

namespace rematlas::explorer {

class GraphColumns {
  public:
    /// No columns.
    GraphColumns() = default;
    /// Cuts lie between items if there is such a place near the even cut. Cost: nearly linear in the items.
    GraphColumns(const Layout& layout, int count);

    int count() const { return static_cast<int>(parts_.size()); }
    /// The bounds of all columns with some room around them, in scene coordinates.
    QRectF bounds() const;
    /// The part of the layout that the column shows, with that room, in layout coordinates.
    const QRectF& part(int column) const { return parts_[static_cast<std::size_t>(column)]; }
    /// The shift from layout to scene coordinates.
    QPointF shift(int column) const;
    /// The column that shows this height of the layout.
    int column_at(double y) const;

    /// Moves a rectangle to the column of its upper edge: an item is never divided between columns.
    QRectF to_scene(const QRectF& of_layout) const;
    QPointF to_layout(const QPointF& of_scene) const;

  private:
    std::vector<QRectF> parts_;
};

/// Returns the number of columns that shows the drawing at the largest size in the room; 1 if one column is
/// readable, or if columns would gain little.
int columns_for(Size drawing, Size room);

}  // namespace rematlas::explorer
