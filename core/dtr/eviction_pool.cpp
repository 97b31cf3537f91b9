#include "core/dtr/eviction_pool.h"

#include <cmath>
#include <utility>

namespace rematlas {

EvictionPool::EvictionPool(const StorageGraph& graph, EvictedNeighbourhood& neighbourhood, Options options)
    : graph_(graph),
      neighbourhood_(neighbourhood),
      options_(options),
      factors_(factors_of(options.heuristic)),
      random_(options.seed),
      indexed_(!options.sample && options.heuristic != DtrHeuristic::random),
      tournament_(factors_.staleness) {}

/// Resizes the lists to the number of storages that the graph has now.
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
    if (factors_.staleness) update(storage);
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
    update(storage);
}

void EvictionPool::remove(int storage) {
    follow_graph();
    if (place_[storage] < 0) return;
    const Entry last = entries_.back();
    entries_[place_[storage]] = last;
    place_[last.storage] = place_[storage];
    place_[storage] = -1;
    entries_.pop_back();
    if (!indexed_) return;
    tournament_.remove_last();
    update(last.storage);
}

void EvictionPool::settle() {
    for (const Entry& entry : entries_) update(entry.storage);
}

EvictionCandidate EvictionPool::candidate(Entry entry, std::int64_t neighbours) const {
    const double own = factors_.cost ? static_cast<double>(graph_.cost(entry.storage)) : 1;
    return {.cost = factors_.neighbourhood ? own + static_cast<double>(neighbours) : own,
            .bytes = factors_.bytes ? static_cast<double>(graph_.bytes(entry.storage)) : 1,
            .last_use = last_use_[entry.storage],
            .order = entry.order};
}

/// Updates the storage's score in the index, if the storage is in the pool.
void EvictionPool::update(int storage) {
    if (!indexed_ || place_[storage] < 0) return;
    const int place = place_[storage];
    tournament_.set(place, candidate(entries_[place], neighbourhood_.cost_at_least(storage)));
}

/// Moves a random sample to the front of the entries and returns its size.
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

int EvictionPool::first_of_sample(std::int64_t now) {
    const std::size_t size = draw_sample();
    const auto candidate_at = [&](std::size_t i) {
        return candidate(entries_[i], neighbourhood_.cost(entries_[i].storage));
    };
    std::size_t first = 0;
    for (std::size_t i = 1; i < size; ++i)
        if (candidate_at(i).goes_before(candidate_at(first), now, factors_.staleness)) first = i;
    return entries_[first].storage;
}

/// Repeatedly computes the exact cost of the storage that is first according to the bounds, until a storage
/// is first by its exact cost.
int EvictionPool::first_of_all(std::int64_t now) {
    for (const int storage : neighbourhood_.take_lowered()) update(storage);
    while (true) {
        const int place = tournament_.winner(now);
        const int storage = entries_[place].storage;
        const EvictionCandidate exact = candidate(entries_[place], neighbourhood_.cost(storage));
        if (exact.cost == tournament_.at(place).cost) return storage;
        tournament_.set(place, exact);
    }
}

int EvictionPool::choose(std::int64_t now) {
    if (options_.heuristic == DtrHeuristic::random) return entries_[random_() % entries_.size()].storage;
    return options_.sample ? first_of_sample(now) : first_of_all(now);
}

}  // namespace rematlas
