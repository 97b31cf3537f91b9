// Cuts a tall drawing into columns side by side, as in a newspaper, so that all of a long graph is seen at a
// readable size.
//
// "Layout" coordinates belong to the drawing before it is cut; "scene" coordinates belong to the columns.
#pragma once

#include <QPointF>
#include <QRectF>
#include <vector>

#include "viz/layout/layout.h"

namespace rematlas::explorer {

class GraphColumns {
  public:
    /// Makes an object without columns.
    GraphColumns() = default;
    /// Cuts the layout into `count` columns of nearly equal height. Cuts do not go through items if possible.
    /// Cost: nearly linear in the items.
    GraphColumns(const Layout& layout, int count);

    int count() const { return static_cast<int>(parts_.size()); }
    /// The bounds of all columns with a margin around them, in scene coordinates.
    QRectF bounds() const;
    /// The part of the layout that the column shows, with a margin on its outer sides, in layout coordinates.
    const QRectF& part(int column) const { return parts_[static_cast<std::size_t>(column)]; }
    /// The shift from layout to scene coordinates.
    QPointF shift(int column) const;
    /// The column that shows the height `y` of the layout.
    int column_at(double y) const;

    /// Moves a rectangle to the column that shows its upper edge. The rectangle is not cut, so an item is
    /// always in one column.
    QRectF to_scene(const QRectF& of_layout) const;
    QPointF to_layout(const QPointF& of_scene) const;

  private:
    std::vector<QRectF> parts_;
};

/// Returns the number of columns that makes the drawing largest in a view of the size `room`. Returns 1 if
/// one column is readable, or if more columns would make the drawing only a little larger.
int columns_for(Size drawing, Size room);

}  // namespace rematlas::explorer
