// Shows lines of a program in a fixed font, with a button that copies them.
#pragma once

#include <QString>
#include <QVBoxLayout>

namespace rematlas::explorer {

/// Adds the lines below a title. `name` is the object name of the widget with the lines; the text can be
/// selected, and Tab gives the widget the focus.
void add_lines_to_copy(QVBoxLayout& layout, const QString& title, const QString& lines, const QString& name);

}  // namespace rematlas::explorer
