// Reads files whole. Writes files whole or not at all.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace rematlas {

/// Reads a file of at most 4 GiB. Errors name the path and the system's reason.
Result<std::string> read_file(const std::filesystem::path& path);

/// Reads a file, and returns what `parse` makes of its text and its path.
template <class Parse>
auto parsed_file(const std::filesystem::path& path, Parse&& parse)
    -> decltype(parse(std::string(), std::string())) {
    const Result<std::string> text = read_file(path);
    if (!text) return text.error();
    return parse(*text, path.string());
}

/// Writes a temporary file, syncs it and renames it to `path`. If `path` is a symbolic link, replaces the
/// file behind the link. If `path` is a device, a pipe or a socket, writes into it directly.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

/// Checks before long work whether a file can be written at `path`. Fails if the folder is missing or not
/// writable, or if the path is a folder.
Result<void> check_can_write(const std::filesystem::path& path);

/// Returns the folder for files that speed up later runs and may be deleted at any time: $REMATLAS_CACHE,
/// else the folder rematlas in $XDG_CACHE_HOME or in ~/.cache. Returns an empty path if $REMATLAS_CACHE is
/// set but empty, or if no home folder is known; programs then store no such files.
std::filesystem::path cache_folder();

/// Returns the SHA-256 of the bytes as 32 bytes.
std::string sha256_bytes(std::string_view bytes);
/// Returns the SHA-256 of the bytes in lower-case hexadecimal.
std::string sha256(std::string_view bytes);

inline constexpr std::string_view kEmptyJson = "it is empty";
inline constexpr std::string_view kCutJson = "it ends early, as a file that was not written to its end";
/// Parses JSON strictly: no duplicate keys, at most 200 levels deep. Errors are one line that starts with
/// `name`. The line ends with `kEmptyJson` if the text is empty, and with `kCutJson` if the text ends early.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view name);
/// Like `parse_json`, for a document in CBOR (RFC 8949).
Result<nlohmann::json> parse_cbor(std::string_view bytes, std::string_view name);

}  // namespace rematlas
