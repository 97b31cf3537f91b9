// How Python runs the original's forward of a planned frame, and is told what became of its backward.
#pragma once

#include "runtime/training/planned_step.h"

namespace rematlas {

/// What a planned step asks of Python, through the functions that `set_callbacks` was given.
OriginalForward original_of_frames();

}  // namespace rematlas
