// The files of resources/devices, built into the program. Their list is written by CMake.
#pragma once

#include <span>
#include <string_view>

namespace rematlas {

struct BuiltinProfile {
    std::string_view name, text;
};
std::span<const BuiltinProfile> builtin_profiles();

}  // namespace rematlas
