// Functions by which a frame (one forward of a planned step, with its backward) makes Python run the
// original's forward, and tells Python what happened to the frame's backward.
#pragma once

#include "runtime/training/planned_step.h"

namespace rematlas {

/// Returns these functions. They call the callbacks that Python passed to `set_callbacks`.
OriginalForward original_of_frames();

}  // namespace rematlas
