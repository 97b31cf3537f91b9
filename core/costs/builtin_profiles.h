// The files of resources/devices, resources/links, resources/hosts and resources/rank_links, built into the
// program. CMake writes the lists of these files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas {

struct BuiltinProfile {
    std::string_view name, text;
};
std::span<const BuiltinProfile> builtin_profiles();  ///< profiles of devices
std::span<const BuiltinProfile> builtin_links();     ///< links without those of devices
std::span<const BuiltinProfile> builtin_hosts();
std::span<const BuiltinProfile> builtin_rank_links();

inline std::vector<std::string> names_of(std::span<const BuiltinProfile> profiles) {
    std::vector<std::string> names;
    for (const BuiltinProfile& profile : profiles) names.emplace_back(profile.name);
    return names;
}

}  // namespace rematlas
