#include "core/solvers/dtr_neighbourhood.h"

#include <algorithm>

namespace rematlas {

DtrNeighbourhood::DtrNeighbourhood(const FlatGraph& graph, Kind kind)
    : graph_(graph),
      kind_(kind),
      evicted_(graph.tensor_count, 0),
      element_(graph.tensor_count, -1),
      known_(graph.tensor_count, 0),
      valid_(graph.tensor_count, 0),
      seen_(graph.tensor_count, 0) {}

bool DtrNeighbourhood::has_evicted_child(int tensor) const {
    bool found = false;
    for_each_child(tensor, [&](int t) { found = found || evicted_[t]; });
    return found;
}

void DtrNeighbourhood::evicted(int tensor) {
    evicted_[tensor] = 1;
    if (kind_ == Kind::classes) {
        join(tensor);
    } else if (kind_ != Kind::none) {
        invalidate_around(tensor);
    }
}

void DtrNeighbourhood::returned(int tensor) {
    evicted_[tensor] = 0;
    if (kind_ == Kind::classes) {
        class_sum_[find(element_[tensor])] -= maker_time(tensor);
        element_[tensor] = -1;
    } else if (kind_ != Kind::none) {
        invalidate_around(tensor);
    }
}

std::int64_t DtrNeighbourhood::time(int tensor) {
    switch (kind_) {
        case Kind::none:
            return 0;
        case Kind::classes:
            return class_time(tensor);
        default:
            break;
    }
    if (!valid_[tensor]) {
        ++stamp_;
        known_[tensor] = closure_time(tensor, true);
        if (kind_ == Kind::ancestors_and_descendants) known_[tensor] += closure_time(tensor, false);
        valid_[tensor] = 1;
    }
    return known_[tensor];
}

int DtrNeighbourhood::find(int element) {
    while (up_[element] != element) {
        up_[element] = up_[up_[element]];
        element = up_[element];
    }
    return element;
}

void DtrNeighbourhood::join(int tensor) {
    const int own = static_cast<int>(up_.size());
    up_.push_back(own);
    class_sum_.push_back(maker_time(tensor));
    class_seen_.push_back(0);
    element_[tensor] = own;
    const auto unite = [&](int t) {
        if (element_[t] < 0) return;
        const int a = find(element_[t]), b = find(own);
        if (a == b) return;
        up_[b] = a;
        class_sum_[a] += class_sum_[b];
    };
    for_each_parent(tensor, unite);
    for_each_child(tensor, unite);
}

std::int64_t DtrNeighbourhood::class_time(int tensor) {
    ++stamp_;
    std::int64_t sum = 0;
    const auto add = [&](int t) {
        if (element_[t] < 0) return;
        const int root = find(element_[t]);
        if (class_seen_[root] == stamp_) return;
        class_seen_[root] = stamp_;
        sum += class_sum_[root];
    };
    for_each_parent(tensor, add);
    for_each_child(tensor, add);
    return sum;
}

/// Ancestors and descendants of one tensor are disjoint, so both directions share a stamp.
std::int64_t DtrNeighbourhood::closure_time(int tensor, bool up) {
    std::int64_t sum = 0;
    walk_.assign(1, tensor);
    const auto visit = [&](int t) {
        if (!evicted_[t] || seen_[t] == stamp_) return;
        seen_[t] = stamp_;
        sum += maker_time(t);
        walk_.push_back(t);
    };
    while (!walk_.empty()) {
        const int t = walk_.back();
        walk_.pop_back();
        if (up) {
            for_each_parent(t, visit);
        } else {
            for_each_child(t, visit);
        }
    }
    return sum;
}

/// Forgets what is known of every tensor whose neighbourhood can hold `tensor`.
void DtrNeighbourhood::invalidate_around(int tensor) {
    seen_[tensor] = ++stamp_;
    valid_[tensor] = 0;
    // An ancestor's neighbourhood reaches `tensor` downwards, a descendant's upwards: two straight walks,
    // never a turn.
    for (const bool up : {true, false}) {
        walk_.assign(1, tensor);
        const auto visit = [&](int t) {
            valid_[t] = 0;
            if (!evicted_[t] || seen_[t] == stamp_) return;
            seen_[t] = stamp_;
            walk_.push_back(t);
        };
        while (!walk_.empty()) {
            const int t = walk_.back();
            walk_.pop_back();
            if (up) {
                for_each_parent(t, visit);
            } else {
                for_each_child(t, visit);
            }
        }
    }
}

}  // namespace rematlas
