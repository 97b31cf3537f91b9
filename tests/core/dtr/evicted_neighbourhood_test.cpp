// Compares neighbourhoods, and the evictions that depend on them, with plain implementations of the paper's
// definitions.
#include "core/dtr/evicted_neighbourhood.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "core/dtr/eviction_pool.h"
#include "tests/core/dtr/random_trace.h"

namespace rematlas {
namespace {

using Kind = EvictedNeighbourhood::Kind;

/// The paper's definitions, computed on sets and only from the trace.
class Plain {
  public:
    Plain(const Trace& trace, int ops) : trace_(trace), ops_(ops) {}

    std::int64_t cost(int storage) const {
        std::int64_t sum = 0;
        for (int op = 0; op < ops_; ++op) sum += makes(op, storage) ? trace_.ops[op].time : 0;
        return sum;
    }

    /// Returns the evicted storages to which a path of evicted storages leads from the storage `from`. `up`,
    /// `down`: whether the path may go to inputs, and to outputs.
    std::set<int> reachable(int from, const std::set<int>& evicted, bool up, bool down) const {
        std::set<int> found, open{from};
        while (!open.empty()) {
            const int s = *open.begin();
            open.erase(open.begin());
            for (int other : neighbours(s, up, down)) {
                if (evicted.count(other) != 0 && other != from && found.insert(other).second)
                    open.insert(other);
            }
        }
        return found;
    }

    std::int64_t neighbourhood_cost(int storage, const std::set<int>& evicted, Kind kind) const {
        std::set<int> all;
        if (kind == Kind::classes) all = reachable(storage, evicted, true, true);
        if (kind == Kind::ancestors || kind == Kind::ancestors_and_descendants)
            all = reachable(storage, evicted, true, false);
        if (kind == Kind::ancestors_and_descendants) all.merge(reachable(storage, evicted, false, true));
        std::int64_t sum = 0;
        for (int s : all) sum += cost(s);
        return sum;
    }

  private:
    int storage_of(int tensor) const { return trace_.tensors[tensor].storage; }
    bool makes(int op, int storage) const {
        for (int t : trace_.ops[op].outputs)
            if (storage_of(t) == storage) return true;
        return false;
    }
    std::set<int> neighbours(int storage, bool up, bool down) const {
        std::set<int> all;
        for (int op = 0; op < ops_; ++op) {
            for (int in : trace_.ops[op].inputs) {
                for (int out : trace_.ops[op].outputs) {
                    if (up && storage_of(out) == storage) all.insert(storage_of(in));
                    if (down && storage_of(in) == storage) all.insert(storage_of(out));
                }
            }
        }
        all.erase(storage);
        return all;
    }

    const Trace& trace_;
    int ops_;
};

/// Evicts and restores random storages while the program runs, and compares the costs.
void compare_along_random_evictions(std::uint64_t seed, Kind kind, bool with_returns) {
    const Trace trace = random_trace(seed, 25);
    StorageGraph graph;
    EvictedNeighbourhood neighbourhood(graph, kind);
    std::mt19937_64 random(seed);
    std::set<int> there, evicted;
    for (int op = 0; op < static_cast<int>(trace.ops.size()); ++op) {
        graph.add(trace.ops[op], trace.outputs_of(op));
        for (int t : trace.ops[op].outputs) {
            const auto [step, storage, view] = trace.tensors[t];
            if (view) neighbourhood.grew(storage);
            if (!view) there.insert(storage);
        }
        // A storage joins classes when it is evicted; a view that is added later joins none. So classes are
        // compared only after the last op.
        if (kind == Kind::classes && op + 1 < static_cast<int>(trace.ops.size())) continue;
        for (int i = 0; i < (kind == Kind::classes ? 20 : 4); ++i) {
            const bool back = with_returns && random() % 3 == 0;
            std::set<int>& from = back ? evicted : there;
            if (from.empty()) continue;
            const int storage = *std::next(from.begin(), static_cast<long>(random() % from.size()));
            from.erase(storage);
            (back ? there : evicted).insert(storage);
            back ? neighbourhood.returned(storage) : neighbourhood.evicted(storage);
            const Plain plain(trace, op + 1);
            for (int s : there) {
                ASSERT_EQ(graph.cost(s), plain.cost(s));
                ASSERT_EQ(neighbourhood.cost(s), plain.neighbourhood_cost(s, evicted, kind))
                    << "seed " << seed << " storage " << s;
            }
        }
    }
}

TEST(EvictedNeighbourhood, is_what_is_reached_through_evicted_storages_only) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        compare_along_random_evictions(seed, Kind::ancestors, true);
        compare_along_random_evictions(seed, Kind::ancestors_and_descendants, true);
    }
}

TEST(EvictedNeighbourhood, in_classes_is_the_connected_component_until_something_returns) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed)
        compare_along_random_evictions(seed, Kind::classes, false);
}

TEST(EvictedNeighbourhood, in_classes_keeps_a_class_whole_when_its_middle_returns) {
    const Trace trace = unit_chain_trace(6);
    StorageGraph graph;
    for (int op = 0; op < 6; ++op) graph.add(trace.ops[op], trace.outputs_of(op));
    EvictedNeighbourhood classes(graph, Kind::classes), exact(graph, Kind::ancestors_and_descendants);
    for (EvictedNeighbourhood* kept : {&classes, &exact}) {
        for (int storage : {1, 2, 3}) kept->evicted(storage);
        kept->returned(2);
    }
    EXPECT_EQ(exact.cost(0), 1);
    EXPECT_EQ(classes.cost(0), 2);
}

/// Returns the score of a storage as defined by Kirisame et al. (ICLR 2021).
double score(const Plain& plain, const Trace& trace, const std::set<int>& evicted, DtrHeuristic heuristic,
             int storage, std::int64_t staleness) {
    const Kind kind = EvictionPool::neighbourhood_of(heuristic);
    const double c = static_cast<double>(plain.cost(storage)),
                 e = static_cast<double>(plain.neighbourhood_cost(storage, evicted, kind)),
                 m = static_cast<double>(trace.bytes[storage]), s = static_cast<double>(staleness);
    switch (heuristic) {
        case DtrHeuristic::dtr:
        case DtrHeuristic::dtr_eq:
            return (c + e) / (m * s);
        case DtrHeuristic::local:
            return c / (m * s);
        case DtrHeuristic::lru:
            return 1 / s;
        case DtrHeuristic::size:
            return 1 / m;
        case DtrHeuristic::msps:
            return (c + e) / m;
        case DtrHeuristic::random:
            break;
    }
    return 0;
}

TEST(EvictionPool, chooses_the_least_score) {
    for (const DtrHeuristic heuristic : {DtrHeuristic::dtr, DtrHeuristic::dtr_eq, DtrHeuristic::local,
                                         DtrHeuristic::lru, DtrHeuristic::size, DtrHeuristic::msps}) {
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            const Trace trace = random_trace(seed, 25);
            StorageGraph graph;
            EvictedNeighbourhood neighbourhood(graph, EvictionPool::neighbourhood_of(heuristic));
            EvictionPool pool(graph, neighbourhood, {.heuristic = heuristic});
            const int ops = static_cast<int>(trace.ops.size());
            const std::int64_t now = ops + 1;
            std::set<int> there, evicted;
            for (int op = 0; op < ops; ++op) {
                graph.add(trace.ops[op], trace.outputs_of(op));
                for (int t : trace.ops[op].outputs) {
                    const int storage = trace.tensors[t].storage;
                    pool.used(storage, op);
                    if (trace.bytes[storage] > 0 && there.insert(storage).second) pool.insert(storage);
                }
            }
            std::vector<std::int64_t> used(trace.bytes.size());
            for (int op = 0; op < ops; ++op)
                for (int t : trace.ops[op].outputs) used[trace.tensors[t].storage] = op;
            const Plain plain(trace, ops);
            while (!there.empty()) {
                const int chosen = pool.choose(now);
                const auto scored = [&](int s) {
                    return score(plain, trace, evicted, heuristic, s, now - used[s]);
                };
                for (int s : there) ASSERT_LE(scored(chosen), scored(s) * (1 + 1e-12)) << seed;
                ASSERT_EQ(there.erase(chosen), 1u);
                pool.remove(chosen);
                evicted.insert(chosen);
                neighbourhood.evicted(chosen);
            }
        }
    }
}

TEST(EvictionPool, breaks_ties_towards_the_last_to_become_evictable_and_zeros_towards_the_first) {
    Trace trace;
    for (const std::int64_t time : {3, 3, 0, 0, 3}) trace.call({.time = time}, {{.bytes = 2}});
    StorageGraph graph;
    for (int op = 0; op < 5; ++op) graph.add(trace.ops[op], trace.outputs_of(op));
    EvictedNeighbourhood neighbourhood(graph, Kind::none);
    EvictionPool pool(graph, neighbourhood, {.heuristic = DtrHeuristic::local});
    for (int storage : {4, 0, 1, 3, 2}) pool.insert(storage);
    std::vector<int> order;
    while (!pool.empty()) {
        order.push_back(pool.choose(10));
        pool.remove(order.back());
    }
    EXPECT_EQ(order, (std::vector{3, 2, 1, 0, 4}));
}

TEST(EvictionPool, ignores_what_is_small_beside_what_came_before) {
    Trace trace;
    for (const std::int64_t bytes : {1000, 1000, 5}) trace.call({.time = 1}, {{.bytes = bytes}});
    StorageGraph graph;
    for (int op = 0; op < 3; ++op) graph.add(trace.ops[op], trace.outputs_of(op));
    EvictedNeighbourhood neighbourhood(graph, Kind::none);
    EvictionPool pool(graph, neighbourhood, {.heuristic = DtrHeuristic::lru, .ignore_small = true});
    for (int storage : {0, 1, 2}) pool.insert(storage);
    pool.remove(0);
    pool.remove(1);
    EXPECT_TRUE(pool.empty());
}

TEST(EvictionPool, samples_the_root_of_its_storages) {
    Trace trace;
    for (int i = 0; i < 100; ++i) trace.call({.time = 1}, {{.bytes = i + 1}});
    StorageGraph graph;
    for (int op = 0; op < 100; ++op) graph.add(trace.ops[op], trace.outputs_of(op));
    EvictedNeighbourhood neighbourhood(graph, Kind::none);
    EvictionPool pool(graph, neighbourhood, {.heuristic = DtrHeuristic::size, .sample = true});
    for (int storage = 0; storage < 100; ++storage) pool.insert(storage);
    // In one of ten draws, a random sample of 10 of the 100 storages contains the largest storage of all.
    int largest = 0;
    double sum = 0;
    for (int draw = 0; draw < 1000; ++draw) {
        const int chosen = pool.choose(1);
        largest += chosen == 99;
        sum += chosen;
    }
    EXPECT_NEAR(largest, 100, 40);
    EXPECT_NEAR(sum / 1000, 101.0 * 10 / 11 - 1, 1.5);
}

}  // namespace
}  // namespace rematlas
