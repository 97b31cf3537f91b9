// A cache on disk for the options of blocks that earlier runs of the program found.
//
//     const OptionCache cache(folder);
//     if (auto found = cache.find(key, times, 0.02)) ...      // run sequences by canonical places
//     cache.keep(key, {.times = times, .options = ...});
//
// Each key has its own file. Several processes may share the folder: a file is always written as a whole. If
// two processes write the same key, one of the two files stays. A damaged file (truncated, changed, or of
// another version) counts as missing, and the next `keep` replaces it.
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

/// The options of one block. Ops are named by their places in the `CanonicalBlock`.
struct CachedOptions {
    std::vector<std::int64_t> times;  ///< ns, by place: times of the block for which the options were found
    std::vector<RunSequence> options;
};

class OptionCache {
  public:
    /// The first `keep` makes the folder. With an empty path, nothing is stored or found.
    explicit OptionCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Returns the options stored under `key`. Returns nullopt if there are none, or if the block for which
    /// they were found had times that differ from `times` by more than `tolerance` (`times_apart`). `key`
    /// must contain everything that the options depend on, except the times. All places in the result are
    /// below the number of ops; whether the sequences can run is not checked.
    std::optional<CachedOptions> find(std::string_view key, const std::vector<std::int64_t>& times,
                                      double tolerance) const;

    /// Stores options. Does nothing if it cannot write to the folder, because the search must go on without a
    /// cache.
    void keep(std::string_view key, const CachedOptions& found) const;

    /// Removes the oldest files until at most `most_bytes` are left.
    void shrink(std::int64_t most_bytes) const;

    int damaged() const { return damaged_; }  ///< number of files that `find` could not use

  private:
    std::filesystem::path path_of(std::string_view key) const;

    std::filesystem::path folder_;
    mutable std::atomic<int> damaged_ = 0;
};

/// `cached_text` returns the options as the bytes of a file, and `parse_cached` reads them. `parse_cached`
/// returns nullopt if the bytes are damaged.
std::string cached_text(const CachedOptions& found);
std::optional<CachedOptions> parse_cached(std::string_view bytes);

}  // namespace rematlas::hierarchical
