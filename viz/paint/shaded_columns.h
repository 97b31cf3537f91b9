// What is too narrow to be drawn in a row of a picture: each column of the row, a point wide, gets a shade
// that tells how much of it is taken. So a row costs no more rectangles than it has columns.
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
    /// Points; narrower things are better shaded than drawn.
    static constexpr double kNarrow = 2;

    ShadedColumns(const Rect& row, const palette::Paper& paper);

    /// Adds what lies between two points to the columns that it touches.
    void cover(double left, double right, const Color& color);
    /// Columns of one shade and colour are one rectangle.
    void paint(Canvas& canvas) const;
    /// How much of the page is in colours on which no name stands.
    static double page_part(const palette::Paper& paper);

  private:
    /// How much of a column is taken, and in which colour.
    struct Column {
        double covered = 0;
        Color color{0, 0, 0, 0};  ///< sum over the parts
    };
    static int shade_of(const Column& column);
    static bool same_shade(const Column& a, const Column& b);
    Color color_of(const Column& column) const;

    Rect row_;
    const palette::Paper& paper_;
    std::vector<Column> columns_;
};

}  // namespace rematlas
