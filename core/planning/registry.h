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

/// Returns all solvers, in the order in which they are shown.
std::span<const SolverEntry* const> all_solvers();

/// Returns the solver with this name; null if there is none.
const SolverEntry* find_solver(std::string_view name);

/// Returns the traits of the solver with this name; default traits with an empty name if there is none.
const SolverTraits& traits_of(std::string_view name);

/// Makes a solver by name with options (null: defaults). Errors: unknown name, unknown key, wrong type, value
/// out of range.
Result<std::unique_ptr<Solver>> make_solver(std::string_view name, const nlohmann::json* options = nullptr);

/// Returns every option of a solver with its default, in the form that `make_solver` reads. The object is
/// empty if the solver has no options or is not known.
nlohmann::json default_options(std::string_view name);

/// Returns the names of all solvers, separated by commas.
std::string solver_names();

}  // namespace rematlas
