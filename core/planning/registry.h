// All solvers, by name.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/solving/solver_entry.h"

namespace rematlas {

/// In the order they are shown.
std::span<const SolverEntry* const> all_solvers();

/// Null where there is none of that name.
const SolverEntry* find_solver(std::string_view name);

/// Builds a solver by name with options (null: defaults). Errors: unknown name, unknown key, wrong type, out
/// of range.
Result<std::unique_ptr<Solver>> make_solver(std::string_view name, const nlohmann::json* options = nullptr);

/// Every option of a solver at its default, as `make_solver` takes them. An empty object for a solver without
/// options, or one that is not known.
nlohmann::json default_options(std::string_view name);

/// Their names in a row, with commas.
std::string solver_names();

}  // namespace rematlas
