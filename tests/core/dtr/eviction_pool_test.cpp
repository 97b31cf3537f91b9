// Tests that a pool evicts the same storage that a comparison of all its storages finds, whatever happened
// before.
#include "core/dtr/eviction_pool.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <set>

namespace rematlas {
namespace {

/// A random program: the graph grows, storages are evicted and return, and a pool is kept up to date. There
/// are few different sizes and times, so scores are often equal.
class PoolProgram {
  public:
    PoolProgram(DtrHeuristic heuristic, bool ignore_small, std::uint64_t seed)
        : heuristic_(heuristic),
          ignore_small_(ignore_small),
          random_(seed),
          scale_(seed % 2 == 0 ? 1 : 1'000'003),
          kind_(EvictionPool::neighbourhood_of(heuristic)),
          neighbourhood_(graph_, kind_),
          classes_(graph_, kind_),
          pool_(graph_, neighbourhood_, {.heuristic = heuristic, .ignore_small = ignore_small}) {}

    void step() {
        now_ += below(3) * scale_;
        const int what = below(20);
        if (what < 6 || graph_.storage_count() < 4) {
            call();
        } else if (what < 9) {
            use(any());
        } else if (what < 11) {
            const int storage = any();  // an op starts or stops reading this storage
            if (!orders_.contains(storage)) {
                insert(storage);
            } else {
                remove(storage);
            }
        } else if (what < 15) {
            if (!orders_.empty()) evict();
        } else if (what < 19) {
            if (!evicted_.empty()) bring_back();
        } else if (below(10) == 0) {
            neighbourhood_.settle();
            classes_.settle();
            pool_.settle();
        }
    }

    int chosen() const { return chosen_; }

  private:
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
    int any() { return below(graph_.storage_count()); }

    void call() {
        Trace::Op op{.time = below(6) * scale_};
        for (int i = below(3); i > 0 && graph_.tensor_count() > 0; --i)
            op.inputs.push_back(below(graph_.tensor_count()));
        std::vector<Trace::Output> outputs{{.bytes = below(5) == 0 ? below(2) : 200 * (1 + below(4))}};
        const bool view = !op.inputs.empty() && below(4) == 0;
        if (view) outputs.front() = {.bytes = 0, .view_of = 0};
        const int storage = graph_.tensor(graph_.op(graph_.add(op, outputs)).outputs.front()).storage;
        if (view) {
            neighbourhood_.grew(storage);
            classes_.grew(storage);
        } else {
            use(storage);
            insert(storage);
        }
    }

    void use(int storage) {
        last_use_[storage] = now_;
        pool_.used(storage, now_);
    }

    void insert(int storage) {
        if (evicted_.contains(storage)) return;
        pool_.insert(storage);
        if (ignore_small_ && is_small(storage)) return;
        orders_[storage] = order_++;
    }

    void remove(int storage) {
        pool_.remove(storage);
        orders_.erase(storage);
    }

    bool is_small(int storage) {
        if (const auto known = small_.find(storage); known != small_.end()) return known->second;
        seen_bytes_ += static_cast<double>(graph_.bytes(storage));
        const double average = seen_bytes_ / static_cast<double>(small_.size() + 1);
        return small_[storage] = static_cast<double>(graph_.bytes(storage)) < average / 100;
    }

    void evict() {
        const int first = pool_.choose(now_);
        ASSERT_EQ(first, first_of_all());
        ++chosen_;
        remove(first);
        evicted_.insert(first);
        neighbourhood_.evicted(first);
        classes_.evicted(first);
    }

    void bring_back() {
        const int storage = *std::next(evicted_.begin(), below(static_cast<int>(evicted_.size())));
        neighbourhood_.returned(storage);
        classes_.returned(storage);
        evicted_.erase(storage);
        insert(storage);
    }

    double score(int storage, EvictedNeighbourhood& neighbourhood) const {
        const auto bytes = static_cast<double>(graph_.bytes(storage));
        const auto stale = static_cast<double>(now_ - last_use_.at(storage));
        const double cost =
            static_cast<double>(graph_.cost(storage)) + static_cast<double>(neighbourhood.cost(storage));
        const auto over = [](double above, double under) {
            return under > 0 ? above / under : std::numeric_limits<double>::infinity();
        };
        switch (heuristic_) {
            case DtrHeuristic::lru:
                return over(1, stale);
            case DtrHeuristic::size:
                return over(1, bytes);
            case DtrHeuristic::msps:
                return over(cost, bytes);
            default:
                return over(cost, bytes * stale);
        }
    }

    int first_of_all() {
        // Computes all sums anew, except for classes, which depend on what happened before.
        EvictedNeighbourhood fresh(graph_, kind_);
        for (const int storage : evicted_) fresh.evicted(storage);
        EvictedNeighbourhood& neighbourhood = kind_ == EvictedNeighbourhood::Kind::classes ? classes_ : fresh;
        int first = -1;
        double least = 0;
        for (const auto& [storage, order] : orders_) {
            const double own = score(storage, neighbourhood);
            const bool later = first >= 0 && order > orders_[first];
            if (first < 0 || own < least || (own == least && later != (own == 0))) {
                first = storage;
                least = own;
            }
        }
        return first;
    }

    DtrHeuristic heuristic_;
    bool ignore_small_;
    std::mt19937_64 random_;
    std::int64_t scale_;
    EvictedNeighbourhood::Kind kind_;
    StorageGraph graph_;
    EvictedNeighbourhood neighbourhood_, classes_;
    EvictionPool pool_;
    std::map<int, int> orders_;  // per storage in the pool: its place in the order in which storages became
                                 // evictable
    std::map<int, std::int64_t> last_use_;
    std::map<int, bool> small_;
    std::set<int> evicted_;
    double seen_bytes_ = 0;
    std::int64_t now_ = 0;
    int order_ = 0, chosen_ = 0;
};

TEST(EvictionPool, chooses_what_a_comparison_of_all_says) {
    for (const DtrHeuristic heuristic : {DtrHeuristic::dtr_eq, DtrHeuristic::dtr, DtrHeuristic::local,
                                         DtrHeuristic::lru, DtrHeuristic::size, DtrHeuristic::msps}) {
        int chosen = 0;
        for (std::uint64_t seed = 1; seed <= 60 && !::testing::Test::HasFailure(); ++seed) {
            SCOPED_TRACE(seed);
            PoolProgram program(heuristic, seed % 5 == 0, seed);
            for (int i = 0; i < 400 && !::testing::Test::HasFailure(); ++i) program.step();
            chosen += program.chosen();
        }
        EXPECT_GT(chosen, 2000) << static_cast<int>(heuristic);
    }
}

}  // namespace
}  // namespace rematlas
