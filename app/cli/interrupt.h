// Handles Ctrl-C during a long command. The first Ctrl-C makes the command stop with its best result so far;
// the second Ctrl-C ends the process.
#pragma once

#include <stop_token>

namespace rematlas {

/// Catches SIGINT from this call on. The first SIGINT requests a stop, which the returned token shows.
std::stop_token catch_interrupt();

}  // namespace rematlas
