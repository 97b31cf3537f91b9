// The two small boxes of the help menu.
#pragma once

class QWidget;

namespace rematlas::explorer {

void show_about(QWidget* parent);
void show_shortcuts(QWidget* parent);

}  // namespace rematlas::explorer
