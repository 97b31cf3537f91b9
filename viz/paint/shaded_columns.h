// Shades for shapes that are too narrow to be drawn one by one in a row of a picture. Each column of the row,
// one point wide, gets a shade that shows how much of it is covered. So a row has at most as many rectangles
// as columns.
//
//     ShadedColumns columns(row, paper);
//     columns.cover(left, right, color);  // for each thing
//     columns.paint(canvas);
#pragma once

#include <vector>

#include "viz/paint/canvas.h"
#include "viz/paint/palette.h"

namespace rematlas {

class ShadedColumns {
  public:
    /// Shapes narrower than this number of points are shaded instead of drawn.
    static constexpr double kNarrow = 2;

    ShadedColumns(const Rect& row, const palette::Paper& paper);

    /// Adds the stretch from `left` to `right`, both x in the picture, to the columns that it touches.
    void cover(double left, double right, const Color& color);
    /// Paints neighbouring columns of equal shade and colour as one rectangle.
    void paint(Canvas& canvas) const;
    /// Boxes without names are painted in their own colour, mixed with the page's colour. Returns the share
    /// of the page's colour in this mixture.
    static double page_part(const palette::Paper& paper);

  private:
    /// Says how much of a column is covered, and in which colour.
    struct Column {
        double covered = 0;
        Color color{0, 0, 0, 0};  ///< sum of the colours of the covered parts
    };
    static int shade_of(const Column& column);
    static bool same_shade(const Column& a, const Column& b);
    Color color_of(const Column& column) const;

    Rect row_;
    const palette::Paper& paper_;
    std::vector<Column> columns_;
};

}  // namespace rematlas
