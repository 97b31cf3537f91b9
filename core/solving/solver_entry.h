// The entry of a solver's folder for the registry (planning/registry.h). A new solver is one folder with one
// entry, and one line in the registry.
//
//     // core/solvers/rotor/rotor.h
//     extern const SolverEntry rotor_solver;
//     // core/solvers/rotor/rotor.cpp
//     constinit const SolverEntry rotor_solver =
//         solver_entry<RotorOptions, make_rotor>({.name = "rotor", .compared = true});
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/result.h"
#include "core/solving/option_reader.h"
#include "core/solving/solver.h"

namespace rematlas {

/// The properties by which planning and views decide, so that they need not know solvers by name.
struct SolverTraits {
    std::string_view name;
    std::string_view config_type = {};  ///< its name in configuration files, where it is another one
    bool anytime = false;               ///< uses all the time that it is given, and gets better by it
    ScheduleClass finds =
        ScheduleClass::staged;       ///< the class that its schedules are of, where nothing is copied
    Offload copies = Offload::none;  ///< the most that it can be allowed to copy to the host
    bool least_peak = false;         ///< it also minimizes the peak within a limit on the time
    bool boundary = false;           ///< its schedules run each op once at most on a side of a boundary
    bool compared = false;           ///< takes part in comparisons that name no solver
};

struct SolverEntry {
    SolverTraits traits;
    /// Errors: an unknown key, a wrong type, a value out of range.
    Result<std::unique_ptr<Solver>> (*make)(std::string_view name, const nlohmann::json* options);
    nlohmann::json (*defaults)(std::string_view name);  ///< every option, as `make` takes them
};

/// `Options` has a function `read_options`; `make` builds the solver from options.
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

/// The options of solvers that have none.
struct NoOptions {};
inline void read_options(OptionReader&, NoOptions&) {}

}  // namespace rematlas
