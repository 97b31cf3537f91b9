// The storages that can be evicted, and which of them goes first (Kirisame et al., ICLR 2021, section 4.1 and
// appendices C and D).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/dtr/evicted_neighbourhood.h"
#include "core/dtr/eviction_tournament.h"

namespace rematlas {

/// The score by which storages are evicted: the least score goes first. c: time of the ops that make the
/// storage and its views; m: bytes; s: simulated time since the last use.
enum class DtrHeuristic {
    dtr_eq,  ///< (c + the classes of evicted neighbours, kept by union-find) / (m s)
    dtr,     ///< (c + evicted ancestors and descendants reached through evicted storages) / (m s)
    local,   ///< c / (m s)
    lru,     ///< 1 / s
    size,    ///< 1 / m
    msps,    ///< (c + evicted ancestors) / m
    random,
};

/// Scores are kept in an index, with lower bounds in place of the costs of neighbourhoods. A neighbourhood
/// is summed only if its storage would go first by the bound, so the answers are those of the plain
/// definition. Of equal scores the storage goes that became evictable last; of scores of 0 the one that
/// became evictable first. Storages without bytes go last, except under lru and random.
/// lru and random.
class EvictionPool {
  public:
    struct Options {
        DtrHeuristic heuristic = DtrHeuristic::dtr_eq;
        bool sample = false;  ///< scores a random sample of as many storages as the root of their number
        bool ignore_small = false;  ///< never evicts storages with less than 1 % of the average bytes of the
                                    ///< storages that were made before them
        std::uint64_t seed = 1;
    };

    EvictionPool(const StorageGraph& graph, EvictedNeighbourhood& neighbourhood, Options options);

    void insert(int storage);  ///< does nothing if it is in the pool already
    void remove(int storage);  ///< does nothing if it is not in the pool
    bool empty() const { return entries_.empty(); }

    void used(int storage, std::int64_t now);
    /// Forgets a storage that is not in the pool, because its id may come again.
    void forget(int storage);
    /// Updates all costs, which may have fallen because ops were forgotten.
    void settle();
    /// The storage to evict. The pool must not be empty. `now` never falls.
    int choose(std::int64_t now);

    static EvictedNeighbourhood::Kind neighbourhood_of(DtrHeuristic heuristic);

  private:
    struct Entry {
        int storage;
        std::uint64_t order;  ///< of becoming evictable
    };
    /// The factors of a score.
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
    std::vector<int> place_;         // per storage: in entries_, or -1
    bool indexed_;                   // false: the tournament is empty
    EvictionTournament tournament_;  // places are those of entries_; costs are lower bounds
    std::vector<std::int64_t> last_use_;
    std::vector<std::uint8_t> small_;  // per storage: 0 not known yet, 1 no, 2 yes
    std::int64_t seen_bytes_ = 0, seen_ = 0;
    std::uint64_t order_ = 0;
};

}  // namespace rematlas
