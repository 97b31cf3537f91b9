// Shows lines of a program in a fixed font, with a button that copies them.
#pragma once

#include <QString>
#include <QVBoxLayout>

namespace rematlas::explorer {

/// Adds the title and below it the lines, which can be selected and get the focus by Tab. `name`: the object
/// name of the widget with the lines.
void add_lines_to_copy(QVBoxLayout& layout, const QString& title, const QString& lines, const QString& name);

}  // namespace rematlas::explorer
