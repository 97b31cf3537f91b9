// Files are read whole and written whole or not at all.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace rematlas {

/// Errors name the path and the system's reason. At most 4 GiB.
Result<std::string> read_file(const std::filesystem::path& path);

/// Writes a temporary file beside `path`, syncs it and renames it.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

/// Checks early, before hours of work, whether a file can be written there. Errors: its folder is missing or
/// not ours, or the path is a folder.
Result<void> check_can_write(const std::filesystem::path& path);

/// The folder where programs leave files that later runs can use and that nobody misses: $REMATLAS_CACHE,
/// else rematlas in $XDG_CACHE_HOME or in ~/.cache. The path is empty, and nothing is left anywhere, where
/// $REMATLAS_CACHE is empty or no home is known.
std::filesystem::path cache_folder();

/// Lower-case hex SHA-256.
std::string sha256(std::string_view bytes);

inline constexpr std::string_view kEmptyJson = "it is empty";
inline constexpr std::string_view kCutJson = "it ends early, as a file that was not written to its end";
/// Parses JSON strictly: no duplicate keys, at most 200 levels deep. Errors are one line that starts with
/// `name`; of a part of a file it ends with `kEmptyJson` or `kCutJson`.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view name);

}  // namespace rematlas
