// Checks that all places of the window show the same number for the same question, whatever was done in the
// window before. A question is a budget with its copies and pins.
#pragma once

#include "app/explorer/window/main_window.h"

namespace rematlas::explorer {

/// Expects that the list of plans, the strip with the answer, and the sweep all show the best known bound for
/// each question.
void expect_one_figure(MainWindow& window);

}  // namespace rematlas::explorer
