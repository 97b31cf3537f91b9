#include "core/config/config.h"

#include <array>
#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/solvers/solver.h"

namespace rematlas {
namespace {

using nlohmann::json;

struct Type {
    std::string_view name;
    std::string_view solver;  ///< empty: the type exists, its solver is not in this version
};

constexpr std::array kTypes = {Type{"atlas", "atlas"},
                               Type{"rotor", "rotor"},
                               Type{"dtr", "dtr"},
                               Type{"noremat", "keep-all"},
                               Type{"chen-sqrt", "chen-sqrt"},
                               Type{"chen-greedy", "chen-greedy"},
                               Type{"revolve", "revolve"},
                               Type{"checkmate", "checkmate"},
                               Type{"checkmate-lp", "checkmate-lp"},
                               Type{"rockmate", ""},
                               Type{"hilp", ""},
                               Type{"hiremate", ""},
                               Type{"offmate", ""}};

/// Those with a solver stand first in the table.
constexpr std::size_t kAvailableCount = 9;
constexpr auto kAvailable = [] {
    std::array<std::string_view, kAvailableCount> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kTypes[i].name;
    return names;
}();

std::string available() {
    std::string text;
    for (std::string_view name : kAvailable) text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

Result<Type> find_type(std::string_view name) {
    for (const Type& type : kTypes) {
        if (type.name != name) continue;
        if (type.solver.empty())
            return Error{"type '" + std::string(name) +
                         "': its solver is not in this version; there are: " + available()};
        return type;
    }
    return Error{"type '" + std::string(name.substr(0, 60)) + "' is not known; there are: " + available()};
}

}  // namespace

std::span<const std::string_view> config_types() {
    return kAvailable;
}

Result<std::string> generate_config(std::string_view name) {
    const Result<Type> type = find_type(name);
    if (!type) return type.error();
    const json config = {{"format", "rematlas.config"},
                         {"version", 1},
                         {"type", name},
                         {"options", default_options(type->solver)}};
    return config.dump(2) + "\n";
}

Result<Config> read_config(const std::filesystem::path& path) {
    Result<std::string> text = read_file(path);
    if (!text) return text.error();
    return parse_config(*text, path.string());
}

Result<Config> parse_config(std::string_view text, const std::string& name) {
    Result<json> parsed = parse_json(text, name);
    if (!parsed) return parsed.error();
    try {
        const Fields file(*parsed, "");
        expect_format(file, "rematlas.config", 1);
        for (const auto& [key, value] : parsed->items()) {
            if (key != "format" && key != "version" && key != "type" && key != "options")
                file.fail("key '" + key.substr(0, 60) + "' is not known");
        }
        const Result<Type> type = find_type(file.text("type"));
        if (!type) file.fail(type.error().message);
        const json options = file.has("options") ? file.at("options") : json::object();
        if (!options.is_object()) file.fail("options is not an object");
        if (const auto solver = make_solver(type->solver, &options); !solver)
            file.fail(solver.error().message);
        return Config{std::string(type->name), std::string(type->solver),
                      std::make_shared<const json>(options)};
    } catch (const FieldError& failure) {
        return Error{name + ": " + failure.message};
    }
}

}  // namespace rematlas
