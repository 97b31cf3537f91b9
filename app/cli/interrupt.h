// Ctrl-C asks a long command for its best so far; a second one ends the process.
#pragma once

#include <stop_token>

namespace rematlas {

/// From this call on. The token is requested to stop by the first SIGINT.
std::stop_token catch_interrupt();

}  // namespace rematlas
