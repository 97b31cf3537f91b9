// A capture that a thread waits for.
#pragma once

#include <stop_token>

#include "app/explorer/jobs/capture_controller.h"
#include "core/base/result.h"

namespace rematlas::explorer {

/// Runs the capture in a process of its own and waits until it has written `request.output`; kills it when
/// `stop` says so. For threads other than the GUI's. Errors: one line, what the process said last.
Result<void> capture_and_wait(const CaptureRequest& request, const std::stop_token& stop);

}  // namespace rematlas::explorer
