// Where the small layouts of units lie in the whole drawing. Used by `layout_by_clusters`, and by readers of
// `layouts_of_frames`.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "viz/layout/layout_units.h"

namespace rematlas {

/// A unit's own layout, cut to the frames around what it holds. The two frames of a unit share their height,
/// so that twins stand level, and move apart from side to side as the boxes that they are elsewhere do.
class UnitFrames {
  public:
    /// `titles`: of the left and the right frame. `sheet`: the unit is no frame but the whole drawing.
    UnitFrames(const LayoutUnit& unit, std::shared_ptr<const Layout> layout, std::array<Size, 2> titles);

    Size size(int frame) const { return {frames_[frame].width, height_}; }
    void move(int frame, Point upper_left) { at_[frame] = upper_left; }
    Rect frame(int side) const { return {at_[side].x, at_[side].y, frames_[side].width, height_}; }

    const Layout& layout() const { return *layout_; }
    /// Of a point of the own layout, in the whole drawing.
    Point place(Point p, int side) const;
    /// Of a point of an edge that leads from one frame to the other.
    Point place_between(Point p) const;
    Rect place(const Rect& r, int side) const;

  private:
    void hold_edges(const LayoutUnit& unit);
    double inside(double y) const;

    std::shared_ptr<const Layout> layout_;
    std::array<Rect, 2> frames_{};  ///< in the own layout; only left and right count
    std::array<Point, 2> at_{};
    bool pair_ = false;
    /// Heights in the own layout: where it begins, where the first and last members do, where it ends; room
    /// above and below the members in the frame.
    double begin_ = 0, first_ = 0, last_ = 0, end_ = 0, above_ = 0, below_ = 0;
    double height_ = 0;
};

}  // namespace rematlas
