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

/// Adds the options --offload and --host-budget. If `device_profile`, also adds --device-profile. If
/// `several`, `--offload` takes a list with commas.
void add_copy_options(CLI::App& app, CopyFlags& flags, bool device_profile = true, bool several = false);

/// Returns the copies that the flags ask for. The links stay unknown if the flags name none. Errors name the
/// flag.
Result<Copies> copies_from(const CopyFlags& flags);

/// Returns the copies that the flags ask for. The copies use the links that the flags name, or the links of
/// the graph if the flags name none. Fails if no links are known or the solver cannot plan such copies.
/// Errors name the flag.
Result<Copies> copies_from(const CopyFlags& flags, const Graph& graph, const std::string& solver);

/// Returns the copies for each entry of the list of `--offload`, in the order of the list. Errors name the
/// flag.
Result<std::vector<Copies>> all_copies_from(const CopyFlags& flags);

}  // namespace rematlas
