// The commands of the runtime program. `rematlas capture`, `rematlas run` and `rematlas links` start this
// program.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "core/base/exit.h"
#include "core/base/result.h"

namespace rematlas {

/// The function that runs the chosen command, after the flags are parsed.
using Body = std::function<Result<Exit>()>;

void add_capture_command(CLI::App& app, Body& body);
void add_run_command(CLI::App& app, Body& body);
void add_links_command(CLI::App& app, Body& body);

}  // namespace rematlas
