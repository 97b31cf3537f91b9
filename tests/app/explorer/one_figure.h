// Checks that the window shows only one number for one question, whatever was done in the window before.
#pragma once

#include "app/explorer/window/main_window.h"

namespace rematlas::explorer {

/// Expects that the list of plans, the strip and the sweep show what is known about the plan's question.
void expect_one_figure(MainWindow& window);

}  // namespace rematlas::explorer
