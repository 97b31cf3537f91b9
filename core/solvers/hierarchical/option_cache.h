// A cache on disk of the options that earlier runs of the program found for blocks.
//
//     const OptionCache cache(folder);
//     if (auto found = cache.find(key, times, 0.02)) ...      // run sequences by canonical places
//     cache.keep(key, {.times = times, .options = ...});
//
// Each key has a file. Several processes may share the folder: files are written whole or not at all, and if
// two processes write the same key, one of their files stays. A damaged file (cut off, changed, of another
// version) counts as missing, and the next `keep` replaces it.
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
    std::vector<std::int64_t> times;  ///< ns, by place: times of the block that was searched
    std::vector<RunSequence> options;
};

class OptionCache {
  public:
    /// The first `keep` makes the folder. If the path is empty, nothing is kept or found.
    explicit OptionCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// `key` stands for all that decides about the options except the times, which may differ by `tolerance`
    /// (`times_apart`). All places in the result lie within the number of ops; `find` does not check whether
    /// the sequences can run.
    std::optional<CachedOptions> find(std::string_view key, const std::vector<std::int64_t>& times,
                                      double tolerance) const;

    /// Keeps nothing if the folder cannot be written to, because a failing cache must not stop the search.
    void keep(std::string_view key, const CachedOptions& found) const;

    /// Removes the oldest files until at most `most_bytes` are left.
    void shrink(std::int64_t most_bytes) const;

    int damaged() const { return damaged_; }  ///< files that `find` could not use

  private:
    std::filesystem::path path_of(std::string_view key) const;

    std::filesystem::path folder_;
    mutable std::atomic<int> damaged_ = 0;
};

/// Writes the options as a file's bytes, and reads them back. `parse_cached` returns nothing if the bytes
/// are damaged.
std::string cached_text(const CachedOptions& found);
std::optional<CachedOptions> parse_cached(std::string_view bytes);

}  // namespace rematlas::hierarchical
