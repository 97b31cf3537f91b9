// How Python runs the original's forward for a planned frame, and how it learns what happened to the
// frame's backward.
#pragma once

#include "runtime/training/planned_step.h"

namespace rematlas {

/// Returns the functions by which a planned step asks Python. They call the functions that Python gave to
/// `set_callbacks`.
OriginalForward original_of_frames();

}  // namespace rematlas
