#include "core/solvers/hierarchical/option_cache.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/files.h"
#include "core/solvers/hierarchical/equal_blocks.h"

namespace rematlas::hierarchical {

namespace {

namespace fs = std::filesystem;

/// Increase this version when a change of the program can change the options of a block. Files of older
/// versions are then no longer used.
constexpr std::string_view kCacheVersion = "rematlas options 2\n";
constexpr std::size_t kDigest = 64;  // hexadecimal digits
constexpr std::string_view kSuffix = ".options";

bool all_below(const std::vector<RunSequence>& options, std::size_t ops) {
    return std::all_of(options.begin(), options.end(), [&](const RunSequence& runs) {
        return std::all_of(runs.begin(), runs.end(), [&](std::int32_t place) {
            return place >= 0 && static_cast<std::size_t>(place) < ops;
        });
    });
}

}  // namespace

std::string cached_text(const CachedOptions& found) {
    const nlohmann::json json{{"times", found.times}, {"options", found.options}};
    std::string body;
    nlohmann::json::to_cbor(json, body);
    return std::string(kCacheVersion) + sha256(body) + body;
}

std::optional<CachedOptions> parse_cached(std::string_view bytes) {
    if (!bytes.starts_with(kCacheVersion) || bytes.size() < kCacheVersion.size() + kDigest)
        return std::nullopt;
    bytes.remove_prefix(kCacheVersion.size());
    const std::string_view body = bytes.substr(kDigest);
    if (sha256(body) != bytes.substr(0, kDigest)) return std::nullopt;
    const Result<nlohmann::json> read = parse_cbor(body, "cache");
    if (!read) return std::nullopt;
    try {
        CachedOptions found{.times = read->at("times"), .options = read->at("options")};
        if (!all_below(found.options, found.times.size())) return std::nullopt;
        return found;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

fs::path OptionCache::path_of(std::string_view key) const {
    return folder_ / (sha256(std::string(kCacheVersion) + std::string(key)) + std::string(kSuffix));
}

std::optional<CachedOptions> OptionCache::find(std::string_view key, const std::vector<std::int64_t>& times,
                                               double tolerance) const {
    std::error_code error;
    if (folder_.empty() || !fs::exists(path_of(key), error)) return std::nullopt;
    const Result<std::string> bytes = read_file(path_of(key));
    std::optional<CachedOptions> found;
    if (bytes) found = parse_cached(*bytes);
    if (!found || found->times.size() != times.size()) {
        ++damaged_;
        return std::nullopt;
    }
    if (times_apart(times, found->times) > tolerance) return std::nullopt;
    return found;
}

void OptionCache::keep(std::string_view key, const CachedOptions& found) const {
    if (folder_.empty()) return;
    std::error_code error;
    fs::create_directories(folder_, error);
    if (!error) (void)write_file(path_of(key), cached_text(found));
}

void OptionCache::shrink(std::int64_t most_bytes) const {
    struct File {
        fs::file_time_type time;
        std::int64_t bytes;
        fs::path path;
    };
    std::vector<File> files;
    std::int64_t all = 0;
    std::error_code error;
    for (fs::directory_iterator i(folder_, error), end; !error && i != end; i.increment(error)) {
        std::error_code gone;  // set if another process has removed the file since it was listed
        const auto bytes = static_cast<std::int64_t>(i->file_size(gone));
        const fs::file_time_type time = gone ? fs::file_time_type() : i->last_write_time(gone);
        if (gone || i->path().extension() != kSuffix) continue;
        files.push_back({time, bytes, i->path()});
        all += bytes;
    }
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
    for (const File& file : files) {
        if (all <= most_bytes) break;
        fs::remove(file.path, error);
        all -= file.bytes;
    }
}

}  // namespace rematlas::hierarchical
