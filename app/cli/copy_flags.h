// What a command may copy to the host: --offload, --device-profile, --host-budget.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/solving/copies.h"

namespace rematlas {

struct CopyFlags {
    std::string offload = "none", device_profile, host_budget;
};

/// `device_profile`: whether that option is added, too. `several`: `--offload` takes a list with commas.
void add_copy_options(CLI::App& app, CopyFlags& flags, bool device_profile = true, bool several = false);

/// What the flags say, without a look at a graph. Errors name the flag.
Result<Copies> copies_from(const CopyFlags& flags);

/// The same with links that are known, for a solver that can. Errors name the flag.
Result<Copies> copies_from(const CopyFlags& flags, const Graph& graph, const std::string& solver);

/// One for each of the list of `--offload`, in its order. Errors name the flag.
Result<std::vector<Copies>> all_copies_from(const CopyFlags& flags);

}  // namespace rematlas
