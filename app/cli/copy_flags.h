// The flags on copies to the host: --offload, --device-profile, --host-budget.
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

/// `device_profile`: whether the option --device-profile is added too. `several`: `--offload` takes a list
/// with commas.
void add_copy_options(CLI::App& app, CopyFlags& flags, bool device_profile = true, bool several = false);

/// Returns the copies of the flags, without regard to a graph. Errors name the flag.
Result<Copies> copies_from(const CopyFlags& flags);

/// Returns the copies of the flags with the links of the flags or the graph. Fails if no links are known or
/// the solver cannot plan such copies. Errors name the flag.
Result<Copies> copies_from(const CopyFlags& flags, const Graph& graph, const std::string& solver);

/// Returns one element per entry of the list of `--offload`, in its order. Errors name the flag.
Result<std::vector<Copies>> all_copies_from(const CopyFlags& flags);

}  // namespace rematlas
