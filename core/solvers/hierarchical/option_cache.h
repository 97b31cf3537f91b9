// Options of blocks that earlier runs of the program found, on disk.
//
//     const OptionCache cache(folder);
//     if (auto found = cache.find(key, times, 0.02)) ...      // run sequences by canonical places
//     cache.keep(key, {.times = times, .options = ...});
//
// A file for each key. Several processes may share the folder: files are written whole or not at all, and of
// two that write the same key one stays. A file that is damaged (cut off, changed, of another version) counts
// as not there, and the next `keep` replaces it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/run_sequence.h"

namespace rematlas::hierarchical {

/// What is known of one block, in the numbers of `CanonicalBlock`.
struct CachedOptions {
    std::vector<std::int64_t> times;  ///< ns, by place: those of the block that the options were found for
    std::vector<RunSequence> options;
};

class OptionCache {
  public:
    /// The folder is made when something is kept; empty: nothing is kept, nothing found.
    explicit OptionCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// `key` says all that decides about the options but the times, which may be `tolerance` apart
    /// (`times_apart`). All places are of a block of so many ops; whether the sequences can run is not
    /// looked at.
    std::optional<CachedOptions> find(std::string_view key, const std::vector<std::int64_t>& times,
                                      double tolerance) const;

    /// A folder that cannot be written to keeps nothing: the cache is a help, not a duty.
    void keep(std::string_view key, const CachedOptions& found) const;

    /// Removes the files that were kept the longest ago until at most so many bytes are left.
    void shrink(std::int64_t most_bytes) const;

    int damaged() const { return damaged_; }  ///< files that `find` could not use

  private:
    std::filesystem::path path_of(std::string_view key) const;

    std::filesystem::path folder_;
    mutable std::atomic<int> damaged_ = 0;
};

/// The file's bytes, and back; nothing where they are damaged.
std::string cached_text(const CachedOptions& found);
std::optional<CachedOptions> parse_cached(std::string_view bytes);

}  // namespace rematlas::hierarchical
