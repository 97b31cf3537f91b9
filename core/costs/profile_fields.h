// Functions shared by the readers of profiles of devices, links, hosts and links between ranks.
#pragma once

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/base/result.h"
#include "core/costs/builtin_profiles.h"

namespace rematlas {

/// Fails if the file has a key that is not in `known`, a list with spaces between the keys.
inline void refuse_unknown(const Fields& file, const nlohmann::json& object, const char* known) {
    std::istringstream words(known);
    const std::set<std::string> keys{std::istream_iterator<std::string>(words), {}};
    for (const auto& [key, value] : object.items())
        if (!keys.contains(key)) file.fail("key '" + key.substr(0, 60) + "' is not known");
}

/// Returns the source of each figure: the texts under "sources". "sources" may be missing.
inline std::map<std::string, std::string> sources_in(const Fields& file) {
    std::map<std::string, std::string> found;
    if (!file.has("sources")) return found;
    const Fields sources(file.at("sources"), "sources");
    for (const auto& [key, value] : file.at("sources").items()) found[key] = sources.text(key.c_str());
    return found;
}

/// Reads a profile from a text. `read` gets the object in the text and may throw FieldError. Errors start
/// with `name`.
template <class Profile>
Result<Profile> profile_in(std::string_view text, std::string_view name,
                           Profile (*read)(const nlohmann::json& object)) {
    const Result<nlohmann::json> parsed = parse_json(text, name);
    if (!parsed) return parsed.error();
    try {
        return read(*parsed);
    } catch (const FieldError& failure) {
        return Error{std::string(name) + ": " + failure.message};
    }
}

inline std::vector<std::string> names_of(std::span<const BuiltinProfile> profiles) {
    std::vector<std::string> names;
    for (const BuiltinProfile& profile : profiles) names.emplace_back(profile.name);
    return names;
}

/// Returns the text of the profile of that name in `builtin`, or of the file if the name is a path that ends
/// in .json. Fails for other names, with the message `unknown`, and if the file cannot be read.
inline Result<std::string> profile_text(std::span<const BuiltinProfile> builtin, const std::string& name,
                                        const std::string& unknown) {
    for (const BuiltinProfile& profile : builtin)
        if (profile.name == name) return std::string(profile.text);
    return name.ends_with(".json") ? read_file(name) : Error{unknown};
}

/// Returns "a, b, c".
inline std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
}

}  // namespace rematlas
