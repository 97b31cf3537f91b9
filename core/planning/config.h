// Solver configurations as files:
//
//     {"format": "rematlas.config", "version": 1, "type": "rotor", "options": {"slots": 5000}}
//
//     Result<Config> config = read_config("c.json");
//     solve(graph, {.solver = config->solver, .options = config->options, .budget = budget});
//
// core/solvers/published_options.md lists the names that the published tools' options have here.
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
    std::string type;    ///< as in the file, e.g. noremat
    std::string solver;  ///< the name make_solver takes, e.g. keep-all
    std::shared_ptr<const nlohmann::json> options;
};

/// The types that can be generated.
std::vector<std::string_view> config_types();

/// A complete configuration with every option at its default. Errors: an unknown type.
Result<std::string> generate_config(std::string_view type);

/// Errors name the file and the key: unknown keys, wrong types, values out of range.
Result<Config> read_config(const std::filesystem::path& path);
Result<Config> parse_config(std::string_view text, const std::string& name);

}  // namespace rematlas
