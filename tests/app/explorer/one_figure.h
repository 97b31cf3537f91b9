// No two figures for one question, whatever was done in the window before.
#pragma once

#include "app/explorer/window/main_window.h"

namespace rematlas::explorer {

/// What the list of plans, the strip and the sweep say must be what is known of the plan's question.
void expect_one_figure(MainWindow& window);

}  // namespace rematlas::explorer
