// A tall drawing cut into columns that stand side by side, as those of a newspaper: all of a long graph is
// seen at a size that can be read.
//
// Points "of the layout" are where the layout has them, points "of the scene" where the columns show them.
#pragma once

#include <QPointF>
#include <QRectF>
#include <vector>

#include "viz/layout/layout.h"

namespace rematlas::explorer {

class GraphColumns {
  public:
    /// Nothing, in one column.
    GraphColumns() = default;
    /// Cuts lie between items where there is such a place near the even cut. Cost: near linear in the items.
    GraphColumns(const Layout& layout, int count);

    int count() const { return static_cast<int>(parts_.size()); }
    /// Of the scene: all columns with some room around.
    QRectF bounds() const;
    /// Of the layout: what the column shows, with that room.
    const QRectF& part(int column) const { return parts_[static_cast<std::size_t>(column)]; }
    /// From the layout to the scene.
    QPointF shift(int column) const;
    /// The column that shows the layout's points at this height.
    int column_at(double y) const;

    /// By the upper edge: an item is in one column.
    QRectF to_scene(const QRectF& of_layout) const;
    QPointF to_layout(const QPointF& of_scene) const;

  private:
    std::vector<QRectF> parts_;
};

/// So many columns show the drawing at the largest size in the room; 1 where that can be read, too.
int columns_for(Size drawing, Size room);

}  // namespace rematlas::explorer
