#include "core/planning/config.h"

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/planning/registry.h"

namespace rematlas {
namespace {

using nlohmann::json;

std::string_view type_of(const SolverEntry& solver) {
    return solver.traits.config_type.empty() ? solver.traits.name : solver.traits.config_type;
}

Result<const SolverEntry*> solver_of(std::string_view type) {
    for (const SolverEntry* solver : all_solvers())
        if (type_of(*solver) == type) return solver;
    std::string available = "; there are:";
    for (const std::string_view known : config_types())
        available += (known == config_types().front() ? " " : ", ") + std::string(known);
    return Error{"type '" + std::string(type.substr(0, 60)) + "' is not known" + available};
}

}  // namespace

std::vector<std::string_view> config_types() {
    std::vector<std::string_view> types;
    for (const SolverEntry* solver : all_solvers()) types.push_back(type_of(*solver));
    return types;
}

Result<std::string> generate_config(std::string_view name) {
    const Result<const SolverEntry*> solver = solver_of(name);
    if (!solver) return solver.error();
    const json config = {{"format", "rematlas.config"},
                         {"version", 1},
                         {"type", name},
                         {"options", (*solver)->defaults((*solver)->traits.name)}};
    return config.dump(2) + "\n";
}

Result<Config> read_config(const std::filesystem::path& path) {
    return parsed_file(path, parse_config);
}

Result<Config> parse_config(std::string_view text, const std::string& name) {
    return read_object(text, name, [](const Fields& file) {
        expect_format(file, "rematlas.config", 1);
        file.refuse_unknown("format version type options");
        const std::string type = file.text("type");
        const Result<const SolverEntry*> solver = solver_of(type);
        if (!solver) file.fail(solver.error().message);
        const json options = file.has("options") ? file.at("options") : json::object();
        if (!options.is_object()) file.fail("options is not an object");
        const std::string_view named = (*solver)->traits.name;
        if (const auto made = (*solver)->make(named, &options); !made) file.fail(made.error().message);
        return Config{type, std::string(named), std::make_shared<const json>(options)};
    });
}

}  // namespace rematlas
