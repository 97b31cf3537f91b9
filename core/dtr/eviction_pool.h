// The storages that can be evicted, and the choice of the next one to evict (Kirisame et al., ICLR 2021,
// section 4.1 and appendices C and D).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/dtr/evicted_neighbourhood.h"
#include "core/dtr/eviction_tournament.h"

namespace rematlas {

/// The score by which storages are evicted; the storage with the least score is evicted first. c: time of the
/// ops that make the storage and its views; m: bytes; s: time since the last use, by the clock `now`.
enum class DtrHeuristic {
    dtr_eq,  ///< (c + cost of the classes of evicted neighbours, kept by union-find) / (m s)
    /// (c + cost of the evicted ancestors and descendants reached through evicted storages) / (m s)
    dtr,
    local,  ///< c / (m s)
    lru,    ///< 1 / s
    size,   ///< 1 / m
    msps,   ///< (c + cost of the evicted ancestors) / m
    random,
};

/// Keeps scores in an index that uses lower bounds instead of the costs of neighbourhoods. An exact cost is
/// computed only for the storage that is first according to the bounds, until that storage is also first by
/// its exact cost. So the choice is the same as without an index. Among equal scores, the storage that became
/// evictable last is evicted first; among scores of 0, the one that became evictable first. Storages of 0
/// bytes are evicted last, except under lru and random.
class EvictionPool {
  public:
    struct Options {
        DtrHeuristic heuristic = DtrHeuristic::dtr_eq;
        /// Scores only a random sample; its size is the square root of the number of storages.
        bool sample = false;
        /// Never evicts a storage that, when it first becomes evictable, has less than 1 % of the average
        /// bytes of the storages that have become evictable so far.
        bool ignore_small = false;
        std::uint64_t seed = 1;
    };

    EvictionPool(const StorageGraph& graph, EvictedNeighbourhood& neighbourhood, Options options);

    void insert(int storage);  ///< does nothing if the storage is already in the pool
    void remove(int storage);  ///< does nothing if the storage is not in the pool
    bool empty() const { return entries_.empty(); }

    void used(int storage, std::int64_t now);
    /// Forgets a storage, because its id may be used again. The storage must not be in the pool.
    void forget(int storage);
    /// Updates all costs. Must be called after ops were forgotten, because costs may have fallen.
    void settle();
    /// Returns the storage to evict. The pool must not be empty. `now` must not be less than in an earlier
    /// call.
    int choose(std::int64_t now);

    static EvictedNeighbourhood::Kind neighbourhood_of(DtrHeuristic heuristic);

  private:
    struct Entry {
        int storage;
        std::uint64_t order;  ///< number in the order in which storages became evictable
    };
    /// The factors that a score has.
    struct Factors {
        bool cost, neighbourhood, bytes, staleness;
    };

    static Factors factors_of(DtrHeuristic heuristic);
    void follow_graph();
    bool is_small(int storage);
    std::size_t draw_sample();
    EvictionCandidate candidate(Entry entry, std::int64_t neighbours) const;
    void update(int storage);
    int first_of_sample(std::int64_t now);
    int first_of_all(std::int64_t now);

    const StorageGraph& graph_;
    EvictedNeighbourhood& neighbourhood_;
    Options options_;
    Factors factors_;
    std::mt19937_64 random_;
    std::vector<Entry> entries_;
    std::vector<int> place_;  // per storage: its index in entries_, or -1
    bool indexed_;            // whether the tournament is used; if not, it is empty
    // The index of the scores. Its places are indices in entries_; its costs are lower bounds.
    EvictionTournament tournament_;
    std::vector<std::int64_t> last_use_;
    std::vector<std::uint8_t> small_;  // per storage: 0 unknown, 1 not small, 2 small
    std::int64_t seen_bytes_ = 0, seen_ = 0;
    std::uint64_t order_ = 0;
};

}  // namespace rematlas
