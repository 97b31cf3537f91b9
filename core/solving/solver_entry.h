// Declares the entry of a solver in the registry (planning/registry.h). CONTRIBUTING.md explains how to add a
// solver.
//
//     // core/solvers/rotor/rotor.h
//     extern const SolverEntry rotor_solver;
//     // core/solvers/rotor/rotor.cpp
//     constinit const SolverEntry rotor_solver = solver_entry<RotorOptions, make_rotor>(
//         {.name = "rotor", .summary = "optimal checkpointing of a chain of stages", .compared = true});
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/result.h"
#include "core/solving/option_reader.h"
#include "core/solving/solver.h"

namespace rematlas {

/// Properties of a solver. Planning and views read them instead of comparing the names of solvers.
struct SolverTraits {
    std::string_view name;
    std::string_view summary = {};      ///< one line about the method and its assumptions
    std::string_view config_type = {};  ///< name in configuration files; empty if it is the same as `name`
    bool anytime = false;  ///< uses all the time that it is given, and finds better schedules with more time
    /// Class of the solver's schedules, if nothing may be copied. If it is `any_order`, a sweep may show
    /// schedules of other searches as answers of the solver.
    ScheduleClass finds = ScheduleClass::staged;
    Offload copies = Offload::none;  ///< the most that schedules of the solver can copy to the host
    bool least_peak = false;         ///< can also minimize the peak within a limit on the time
    bool boundary = false;           ///< never runs an op twice on one side of a boundary
    bool compared = false;           ///< takes part in comparisons for which the user names no solvers
};

struct SolverEntry {
    SolverTraits traits;
    /// Errors: an unknown key, a wrong type, a value out of range.
    Result<std::unique_ptr<Solver>> (*make)(std::string_view name, const nlohmann::json* options);
    /// Returns all options with their defaults, in the form that `make` reads.
    nlohmann::json (*defaults)(std::string_view name);
};

/// A solver whose `solve` calls a function. Its name comes from the entry.
template <class Options>
class FunctionSolver final : public Solver {
  public:
    using Function = Answer(const Problem& problem, Bytes budget, const Limits& limits,
                            const Progress& progress, const Options& options);
    FunctionSolver(const SolverEntry& entry, Function& function, const Options& options)
        : name_(entry.traits.name), function_(function), options_(options) {}
    std::string_view name() const override { return name_; }
    Answer solve(const Problem& problem, Bytes budget, const Limits& limits,
                 const Progress& progress) const override {
        return function_(problem, budget, limits, progress, options_);
    }

  private:
    std::string_view name_;
    Function& function_;
    Options options_;
};

/// Makes an entry. There must be a function `read_options` for `Options`. `make` must make the solver from
/// options.
template <class Options, auto make>
constexpr SolverEntry solver_entry(const SolverTraits& traits) {
    return {.traits = traits,
            .make = [](std::string_view name, const nlohmann::json* json) -> Result<std::unique_ptr<Solver>> {
                const Result<Options> options = options_from<Options>(name, json);
                if (!options) return options.error();
                return make(*options);
            },
            .defaults =
                [](std::string_view name) {
                    Options options;
                    OptionReader reader(name, nullptr);
                    read_options(reader, options);
                    return reader.defaults();
                }};
}

/// The options type of solvers that have no options.
struct NoOptions {};
inline void read_options(OptionReader&, NoOptions&) {}

}  // namespace rematlas
