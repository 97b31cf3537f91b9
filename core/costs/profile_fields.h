// Functions shared by the readers of profiles of devices, links, hosts and links between ranks.
#pragma once

#include <map>
#include <span>
#include <string>

#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/base/result.h"
#include "core/costs/builtin_profiles.h"

namespace rematlas {

/// Returns the source of each figure: the texts under "sources". "sources" may be missing.
inline std::map<std::string, std::string> sources_in(const Fields& file) {
    std::map<std::string, std::string> found;
    if (!file.has("sources")) return found;
    const Fields sources(file.at("sources"), "sources");
    for (const auto& [key, value] : file.at("sources").items()) found[key] = sources.text(key.c_str());
    return found;
}

/// Returns the text of the profile of that name in `builtin`, or of the file if the name is a path that ends
/// in .json. Fails for other names, with the message `unknown`, and if the file cannot be read.
inline Result<std::string> profile_text(std::span<const BuiltinProfile> builtin, const std::string& name,
                                        const std::string& unknown) {
    for (const BuiltinProfile& profile : builtin)
        if (profile.name == name) return std::string(profile.text);
    return name.ends_with(".json") ? read_file(name) : Error{unknown};
}

/// Returns the names of the profiles: "a, b, c".
inline std::string listed(std::span<const BuiltinProfile> profiles) {
    std::string list;
    for (const BuiltinProfile& profile : profiles) list.append(list.empty() ? "" : ", ").append(profile.name);
    return list;
}

}  // namespace rematlas
