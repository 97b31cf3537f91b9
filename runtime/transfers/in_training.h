// What a schedule may move in training, where the step comes in two halves with the caller's loss in between.
#pragma once

#include <span>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// Only what ops make may leave the device: at parameters, buffers and inputs the caller may look at any time
/// (checkpoints, evaluation, its optimizer). Errors: the first tensor that has to stay, and why, in one line.
Result<void> check_moves_in_training(const Graph& graph, std::span<const Step> steps, const Homes& homes);

}  // namespace rematlas
