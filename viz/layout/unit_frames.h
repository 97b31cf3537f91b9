// Places the small layouts of the units in the whole drawing. `layout_by_clusters` uses this file, and so do
// readers of `layouts_of_frames`.
#pragma once

#include <array>
#include <memory>

#include "viz/layout/layout_units.h"

namespace rematlas {

/// The layout of a unit, cut to the frames around its members. The two frames of a unit have the same height,
/// so that twins are level. Each frame moves sideways together with its box in the surrounding unit.
class UnitFrames {
  public:
    /// `titles` has the sizes of the titles of the left and the right frame; 0: no title.
    UnitFrames(const LayoutUnit& unit, std::shared_ptr<const Layout> layout, std::array<Size, 2> titles);

    Size size(int frame) const { return {frames_[frame].width, height_}; }
    void move(int frame, Point upper_left) { at_[frame] = upper_left; }
    Rect frame(int side) const { return {at_[side].x, at_[side].y, frames_[side].width, height_}; }

    const Layout& layout() const { return *layout_; }
    /// Converts a point or a rectangle from the unit's own layout to the whole drawing.
    Point place(Point p, int side) const;
    /// Converts a point in the same way, for an edge from one frame of the unit to the other frame.
    Point place_between(Point p) const;
    Rect place(const Rect& r, int side) const;

  private:
    void hold_edges(const LayoutUnit& unit);
    double inside(double y) const;

    std::shared_ptr<const Layout> layout_;
    std::array<Rect, 2> frames_{};  ///< frames in the unit's own layout; only `x` and `width` are used
    std::array<Point, 2> at_{};
    bool pair_ = false;
    /// `begin_` to `end_` are values of y in the unit's own layout: the top of the layout, the upper edge of
    /// the first member, the lower edge of the last member, and the bottom of the layout. `above_` and
    /// `below_` are the distances from the members to the upper and to the lower edge of the frame.
    double begin_ = 0, first_ = 0, last_ = 0, end_ = 0, above_ = 0, below_ = 0;
    double height_ = 0;
};

}  // namespace rematlas
