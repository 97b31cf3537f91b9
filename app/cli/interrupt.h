// Ctrl-C during a long command: the first one makes the command stop with its best result so far, and the
// second one ends the process.
#pragma once

#include <stop_token>

namespace rematlas {

/// Catches SIGINT from this call on. The first SIGINT requests a stop, which the returned token shows.
std::stop_token catch_interrupt();

}  // namespace rematlas
