// Solver configurations as files:
//
//     {"format": "rematlas.config", "version": 1, "type": "rotor", "options": {"slots": 5000}}
//
//     Result<Config> config = read_config("c.json");
//     solve(graph, {.solver = config->solver, .options = config->options, .budget = budget});
//
// core/solvers/published_options.md lists, for each option of the published tools, its name in these files.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace rematlas {

struct Config {
    std::string type;    ///< name of the type in the file, e.g. noremat
    std::string solver;  ///< name of the solver for make_solver, e.g. keep-all
    std::shared_ptr<const nlohmann::json> options;
};

/// Returns the types for which `generate_config` makes a configuration.
std::vector<std::string_view> config_types();

/// Returns the text of a configuration with every option at its default. Errors: an unknown type.
Result<std::string> generate_config(std::string_view type);

/// Reads a configuration. Errors name the file and the key: an unknown key, a wrong type, a value out of
/// range.
Result<Config> read_config(const std::filesystem::path& path);
Result<Config> parse_config(std::string_view text, const std::string& name);

}  // namespace rematlas
