// Checks that all places of the window show the same number for a question, whatever was done in the window
// before.
#pragma once

#include "app/explorer/window/main_window.h"

namespace rematlas::explorer {

/// Expects that the list of plans, the strip with the answer and the sweep show the best bound that is known
/// for each question.
void expect_one_figure(MainWindow& window);

}  // namespace rematlas::explorer
