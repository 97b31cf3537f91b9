// The files of resources/devices, resources/links, resources/hosts and resources/rank_links, built into the
// program. CMake writes the lists of these files.
#pragma once

#include <span>
#include <string_view>

namespace rematlas {

struct BuiltinProfile {
    std::string_view name, text;
};
std::span<const BuiltinProfile> builtin_profiles();  ///< profiles of devices
std::span<const BuiltinProfile> builtin_links();
std::span<const BuiltinProfile> builtin_hosts();
std::span<const BuiltinProfile> builtin_rank_links();

}  // namespace rematlas
