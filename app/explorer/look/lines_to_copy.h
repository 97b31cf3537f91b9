// Lines of a program in a fixed font, with a button that copies them.
#pragma once

#include <QString>
#include <QVBoxLayout>

namespace rematlas::explorer {

/// Below a title. `name` is the object name of the lines, which are selectable and come into focus by Tab.
void add_lines_to_copy(QVBoxLayout& layout, const QString& title, const QString& lines, const QString& name);

}  // namespace rematlas::explorer
