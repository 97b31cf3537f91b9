#include "core/dtr/eviction_pool.h"

#include <cmath>
#include <limits>
#include <utility>

namespace rematlas {

EvictionPool::EvictionPool(const StorageGraph& graph, EvictedNeighbourhood& neighbourhood, Options options)
    : graph_(graph),
      neighbourhood_(neighbourhood),
      options_(options),
      factors_(factors_of(options.heuristic)),
      random_(options.seed) {}

/// Room for the storages that the graph has by now.
void EvictionPool::follow_graph() {
    const auto count = static_cast<std::size_t>(graph_.storage_count());
    if (place_.size() == count) return;
    place_.resize(count, -1);
    last_use_.resize(count, 0);
    small_.resize(count, 0);
}

void EvictionPool::used(int storage, std::int64_t now) {
    follow_graph();
    last_use_[storage] = now;
}

void EvictionPool::forget(int storage) {
    follow_graph();
    last_use_[storage] = 0;
    small_[storage] = 0;
}

EvictedNeighbourhood::Kind EvictionPool::neighbourhood_of(DtrHeuristic heuristic) {
    switch (heuristic) {
        case DtrHeuristic::dtr_eq:
            return EvictedNeighbourhood::Kind::classes;
        case DtrHeuristic::dtr:
            return EvictedNeighbourhood::Kind::ancestors_and_descendants;
        case DtrHeuristic::msps:
            return EvictedNeighbourhood::Kind::ancestors;
        default:
            return EvictedNeighbourhood::Kind::none;
    }
}

EvictionPool::Factors EvictionPool::factors_of(DtrHeuristic heuristic) {
    switch (heuristic) {
        case DtrHeuristic::dtr_eq:
        case DtrHeuristic::dtr:
            return {.cost = true, .neighbourhood = true, .bytes = true, .staleness = true};
        case DtrHeuristic::local:
            return {.cost = true, .neighbourhood = false, .bytes = true, .staleness = true};
        case DtrHeuristic::msps:
            return {.cost = true, .neighbourhood = true, .bytes = true, .staleness = false};
        case DtrHeuristic::lru:
            return {.cost = false, .neighbourhood = false, .bytes = false, .staleness = true};
        case DtrHeuristic::size:
        case DtrHeuristic::random:
            break;
    }
    return {.cost = false, .neighbourhood = false, .bytes = true, .staleness = false};
}

bool EvictionPool::is_small(int storage) {
    if (small_[storage] == 0) {
        ++seen_;
        seen_bytes_ += graph_.bytes(storage);
        const double average = static_cast<double>(seen_bytes_) / static_cast<double>(seen_);
        small_[storage] = static_cast<double>(graph_.bytes(storage)) < average / 100 ? 2 : 1;
    }
    return small_[storage] == 2;
}

void EvictionPool::insert(int storage) {
    follow_graph();
    if (place_[storage] >= 0 || (options_.ignore_small && is_small(storage))) return;
    place_[storage] = static_cast<int>(entries_.size());
    entries_.push_back({storage, order_++});
}

void EvictionPool::remove(int storage) {
    follow_graph();
    if (place_[storage] < 0) return;
    const Entry last = entries_.back();
    entries_[place_[storage]] = last;
    place_[last.storage] = place_[storage];
    place_[storage] = -1;
    entries_.pop_back();
}

/// Moves a sample to the front of the entries and returns its size.
std::size_t EvictionPool::draw_sample() {
    const std::size_t size = entries_.size();
    const auto sample = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(size))));
    for (std::size_t i = 0; i < sample; ++i) {
        const std::size_t other = i + random_() % (size - i);
        std::swap(entries_[i], entries_[other]);
        place_[entries_[i].storage] = static_cast<int>(i);
        place_[entries_[other].storage] = static_cast<int>(other);
    }
    return sample;
}

double EvictionPool::denominator(int storage, std::int64_t now) const {
    const double bytes = factors_.bytes ? static_cast<double>(graph_.bytes(storage)) : 1;
    return factors_.staleness ? bytes * static_cast<double>(now - last_use_[storage]) : bytes;
}

int EvictionPool::choose(std::int64_t now) {
    constexpr double kLast = std::numeric_limits<double>::infinity();
    if (options_.heuristic == DtrHeuristic::random) return entries_[random_() % entries_.size()].storage;
    const std::size_t considered = options_.sample ? draw_sample() : entries_.size();
    Entry best{-1, 0};
    double least = kLast;
    for (std::size_t i = 0; i < considered; ++i) {
        const auto [storage, order] = entries_[i];
        const double below = denominator(storage, now);
        double above = factors_.cost ? static_cast<double>(graph_.cost(storage)) : 1;
        if (below > 0 && above / below > least) continue;  // more neighbours only add to it
        if (factors_.neighbourhood) above += static_cast<double>(neighbourhood_.cost(storage));
        const double score = below > 0 ? above / below : kLast;
        if (score > least) continue;
        if (score == least && best.storage >= 0 && (order < best.order) != (score == 0)) continue;
        best = {storage, order};
        least = score;
    }
    return best.storage;
}

}  // namespace rematlas
