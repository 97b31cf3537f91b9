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

/// All solvers, in the order in which they are shown.
std::span<const SolverEntry* const> all_solvers();

/// The solver of that name; null if there is none.
const SolverEntry* find_solver(std::string_view name);

/// Builds a solver by name with options (null: defaults). Errors: unknown name, unknown key, wrong type, out
/// of range.
Result<std::unique_ptr<Solver>> make_solver(std::string_view name, const nlohmann::json* options = nullptr);

/// Every option of a solver at its default, as `make_solver` takes them. The object is empty if the solver
/// has no options or is not known.
nlohmann::json default_options(std::string_view name);

/// The names of all solvers, separated by commas.
std::string solver_names();

}  // namespace rematlas
