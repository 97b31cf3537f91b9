#include "core/dtr/evicted_neighbourhood.h"

#include <algorithm>

namespace rematlas {

EvictedNeighbourhood::EvictedNeighbourhood(const StorageGraph& graph, Kind kind)
    : graph_(graph), kind_(kind) {}

/// Resizes the lists to the number of storages that the graph has now.
void EvictedNeighbourhood::follow_graph() {
    const auto count = static_cast<std::size_t>(graph_.storage_count());
    if (evicted_.size() == count) return;
    evicted_.resize(count, 0);
    element_.resize(count, -1);
    known_.resize(count, 0);
    valid_.resize(count, 0);
    lowered_at_.resize(count, 0);
    for (auto& seen : seen_) seen.resize(count, 0);
    for (auto& per_change : counted_)
        for (auto& counted : per_change) counted.resize(count, 0);
}

void EvictedNeighbourhood::evicted(int storage) {
    follow_graph();
    evicted_[storage] = 1;
    if (kind_ == Kind::classes) {
        join(storage);
    } else {
        invalidate_around(storage, grows);
    }
}

void EvictedNeighbourhood::settle() {
    follow_graph();
    std::fill(valid_.begin(), valid_.end(), 0);
    std::fill(known_.begin(), known_.end(), 0);
    for (auto& per_change : counted_)
        for (auto& counted : per_change) std::fill(counted.begin(), counted.end(), 0);
    lowered_.clear();
    watchers_.clear();
    std::fill(element_.begin(), element_.end(), -1);
    up_.clear();
    share_.clear();
    class_cost_.clear();
    class_seen_.clear();
    for (int storage = 0; storage < graph_.storage_count(); ++storage) {
        if (!graph_.knows_storage(storage)) evicted_[storage] = 0;
        if (evicted_[storage] && kind_ == Kind::classes) join(storage);
    }
}

void EvictedNeighbourhood::returned(int storage) {
    follow_graph();
    if (kind_ == Kind::classes) {
        const int element = element_[storage], root = find(element);
        class_cost_[root] -= share_[element];
        lower_watchers(root, share_[element]);
        element_[storage] = -1;
        const auto forget = [&](int s) { lower(s, known_[s]); };
        forget(storage);
        graph_.for_each_parent(storage, forget);
        graph_.for_each_child(storage, forget);
    } else {
        invalidate_around(storage, shrinks);
    }
    evicted_[storage] = 0;
}

void EvictedNeighbourhood::grew(int storage) {
    follow_graph();
    if (kind_ != Kind::classes) invalidate_around(storage, grows);
}

std::int64_t EvictedNeighbourhood::cost(int storage) {
    if (kind_ == Kind::none) return 0;
    follow_graph();
    if (kind_ == Kind::classes) return class_cost(storage);
    if (!valid_[storage]) {
        known_[storage] = exact_cost(storage);
        valid_[storage] = 1;
    }
    return known_[storage];
}

int EvictedNeighbourhood::find(int element) {
    while (up_[element] != element) {
        up_[element] = up_[up_[element]];
        element = up_[element];
    }
    return element;
}

void EvictedNeighbourhood::join(int storage) {
    const int own = static_cast<int>(up_.size());
    up_.push_back(own);
    share_.push_back(graph_.cost(storage));
    class_cost_.push_back(graph_.cost(storage));
    class_seen_.push_back(0);
    watchers_.emplace_back();
    element_[storage] = own;
    const auto unite = [&](int s) {
        if (element_[s] < 0) return;
        const int a = find(element_[s]), b = find(own);
        if (a == b) return;
        up_[b] = a;
        class_cost_[a] += class_cost_[b];
        if (watchers_[a].size() < watchers_[b].size()) watchers_[a].swap(watchers_[b]);
        watchers_[a].insert(watchers_[a].end(), watchers_[b].begin(), watchers_[b].end());
        watchers_[b] = {};
    };
    graph_.for_each_parent(storage, unite);
    graph_.for_each_child(storage, unite);
}

std::int64_t EvictedNeighbourhood::class_cost(int storage) {
    ++stamp_;
    std::int64_t sum = 0;
    const auto add = [&](int s) {
        if (element_[s] < 0) return;
        const int root = find(element_[s]);
        if (class_seen_[root] == stamp_) return;
        class_seen_[root] = stamp_;
        sum += class_cost_[root];
    };
    graph_.for_each_parent(storage, add);
    graph_.for_each_child(storage, add);
    if (sum <= known_[storage]) return sum;
    known_[storage] = sum;
    const auto watch = [&](int s) {
        if (element_[s] < 0) return;
        std::vector<int>& watchers = watchers_[find(element_[s])];
        if (watchers.empty() || watchers.back() != storage) watchers.push_back(storage);
    };
    graph_.for_each_parent(storage, watch);
    graph_.for_each_child(storage, watch);
    return sum;
}

/// Must be called when the cost of the class of `root` falls by `share`. Lowers the bounds that contain this
/// cost, each by at most `share`.
void EvictedNeighbourhood::lower_watchers(int root, std::int64_t share) {
    ++stamp_;
    std::erase_if(watchers_[root], [&](int s) {
        if (lowered_at_[s] == stamp_) return true;
        lowered_at_[s] = stamp_;
        lower(s, share);
        return false;
    });
}

void EvictedNeighbourhood::lower(int storage, std::int64_t by) {
    if (by == 0 || known_[storage] == 0) return;
    known_[storage] = std::max<std::int64_t>(known_[storage] - by, 0);
    lowered_.push_back(storage);
}

template <class Visit>
void EvictedNeighbourhood::for_each_neighbour(int storage, Direction direction, Visit&& visit) const {
    if (direction == up) {
        graph_.for_each_parent(storage, visit);
    } else {
        graph_.for_each_child(storage, visit);
    }
}

/// Fills `reached_` with the storage and the evicted storages that a walk in one direction reaches from it
/// through evicted storages only.
void EvictedNeighbourhood::reach(int storage, Direction direction) {
    reached_.assign(1, storage);
    seen_[direction][storage] = stamp_;
    for (std::size_t next = 0; next < reached_.size(); ++next) {
        for_each_neighbour(reached_[next], direction, [&](int s) {
            if (!evicted_[s] || seen_[direction][s] == stamp_) return;
            seen_[direction][s] = stamp_;
            reached_.push_back(s);
        });
    }
}

std::int64_t EvictedNeighbourhood::exact_cost(int storage) {
    ++stamp_;
    std::int64_t sum = 0;
    const auto add = [&](Direction direction) {
        reach(storage, direction);
        for (int s : reached_) {
            counted_[grows][direction][s] = counted_[shrinks][direction][s] = 1;
            if (direction == up || seen_[up][s] != stamp_) sum += graph_.cost(s);
        }
    };
    add(up);
    if (kind_ == Kind::ancestors_and_descendants) add(down);
    return sum - graph_.cost(storage);
}

void EvictedNeighbourhood::invalidate(int storage, Change change) {
    valid_[storage] = 0;
    if (change == shrinks) lower(storage, known_[storage]);
}

/// Forgets the costs of all storages whose neighbourhoods can contain this storage. From each of them, a walk
/// in one direction through evicted storages reaches this storage, so one walk up and one walk down find all
/// of them. A cost that was computed before a neighbourhood grew remains a lower bound.
void EvictedNeighbourhood::invalidate_around(int storage, Change change) {
    if (kind_ == Kind::none) return;
    invalidate(storage, change);
    for (const Direction direction : {up, down}) {
        if (direction == up && kind_ == Kind::ancestors) continue;
        const Direction back = direction == up ? down : up;
        reached_.assign(1, storage);
        for (std::size_t next = 0; next < reached_.size(); ++next) {
            const int from = reached_[next];
            counted_[grows][back][from] = 0;
            if (change == shrinks) counted_[shrinks][back][from] = 0;
            for_each_neighbour(from, direction, [&](int s) {
                invalidate(s, change);
                if (!evicted_[s] || !counted_[change][back][s]) return;
                counted_[change][back][s] = 0;
                reached_.push_back(s);
            });
        }
    }
}

}  // namespace rematlas
