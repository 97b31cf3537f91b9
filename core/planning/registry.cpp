#include "core/planning/registry.h"

#include <nlohmann/json.hpp>

#include "core/solvers/atlas/atlas.h"
#include "core/solvers/checkmate/checkmate.h"
#include "core/solvers/chen/chen.h"
#include "core/solvers/dtr/dtr.h"
#include "core/solvers/hierarchical/hiremate.h"
#include "core/solvers/hierarchical/rockmate.h"
#include "core/solvers/keep_all/keep_all.h"
#include "core/solvers/offmate/offmate.h"
#include "core/solvers/revolve/revolve.h"
#include "core/solvers/rotor/rotor.h"
#include "core/solvers/selective/selective.h"

namespace rematlas {
namespace {

constexpr const SolverEntry* all[] = {
    &atlas_solver,     &hiremate_solver,     &rockmate_solver,  &hilp_solver,    &offmate_solver,
    &checkmate_solver, &checkmate_lp_solver, &rotor_solver,     &dtr_solver,     &chen_greedy_solver,
    &chen_sqrt_solver, &revolve_solver,      &selective_solver, &keep_all_solver};

}  // namespace

std::span<const SolverEntry* const> all_solvers() {
    return all;
}

const SolverEntry* find_solver(std::string_view name) {
    for (const SolverEntry* solver : all)
        if (solver->traits.name == name) return solver;
    return nullptr;
}

const SolverTraits& traits_of(std::string_view name) {
    static constexpr SolverTraits unknown{};
    const SolverEntry* solver = find_solver(name);
    return solver ? solver->traits : unknown;
}

Result<std::unique_ptr<Solver>> make_solver(std::string_view name, const nlohmann::json* options) {
    if (const SolverEntry* solver = find_solver(name)) return solver->make(name, options);
    return Error{"solver '" + std::string(name.substr(0, 60)) +
                 "' is not known; there are: " + solver_names()};
}

nlohmann::json default_options(std::string_view name) {
    const SolverEntry* solver = find_solver(name);
    return solver ? solver->defaults(name) : nlohmann::json::object();
}

std::string solver_names() {
    std::string names;
    for (const SolverEntry* solver : all)
        names += (names.empty() ? "" : ", ") + std::string(solver->traits.name);
    return names;
}

}  // namespace rematlas
