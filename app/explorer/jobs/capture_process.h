// Runs a capture in a child process; the calling thread waits for it.
#pragma once

#include <stop_token>

#include "app/explorer/jobs/capture_controller.h"
#include "core/base/result.h"

namespace rematlas::explorer {

/// Runs the capture and waits until it has written `request.output`. Kills the process when `stop` is
/// requested. Must not be called from the GUI's thread. The error is the error message of the process, in one
/// line.
Result<void> capture_and_wait(const CaptureRequest& request, const std::stop_token& stop);

}  // namespace rematlas::explorer
