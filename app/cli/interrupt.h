// The first Ctrl-C asks a long command for its best so far; a second one ends the process.
#pragma once

#include <stop_token>

namespace rematlas {

/// Catches SIGINT from this call on. The first SIGINT requests a stop from the token.
std::stop_token catch_interrupt();

}  // namespace rematlas
