#include "core/bounds/min_cut.h"

#include <algorithm>

namespace rematlas {

int MinCut::add_edge(int from, int to) {
    from_.push_back(from);
    to_.push_back(to);
    capacity_.push_back(0);
    arc_begin_.clear();
    return static_cast<int>(from_.size()) - 1;
}

void MinCut::link_edges() {
    arc_begin_.assign(static_cast<std::size_t>(nodes_) + 1, 0);
    for (std::size_t e = 0; e < from_.size(); ++e) {
        ++arc_begin_[from_[e] + 1];
        ++arc_begin_[to_[e] + 1];
    }
    for (int v = 0; v < nodes_; ++v) arc_begin_[v + 1] += arc_begin_[v];
    std::vector<int> next(arc_begin_.begin(), arc_begin_.end() - 1);
    arc_list_.resize(2 * from_.size());
    for (std::size_t e = 0; e < from_.size(); ++e) {
        arc_list_[next[from_[e]]++] = static_cast<int>(2 * e);
        arc_list_[next[to_[e]]++] = static_cast<int>(2 * e + 1);
    }
}

/// Sets the heights to the distances to the sink in the residual network. Nodes that cannot reach the sink
/// get the height `nodes_` and are ignored from then on.
void MinCut::relabel_globally() {
    height_.assign(nodes_, nodes_);
    height_[sink_] = 0;
    queue_.assign(1, sink_);
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        const int v = queue_[i];
        for (int k = arc_begin_[v]; k < arc_begin_[v + 1]; ++k) {
            const int arc = arc_list_[k];
            const int u = arc % 2 == 0 ? to_[arc / 2] : from_[arc / 2];
            if (height_[u] < nodes_ || u == source_ || residual_[arc ^ 1] <= 0) continue;
            height_[u] = height_[v] + 1;
            queue_.push_back(u);
        }
    }
    count_.assign(static_cast<std::size_t>(nodes_) + 1, 0);
    for (auto& nodes : active_) nodes.clear();
    active_.resize(static_cast<std::size_t>(nodes_) + 1);
    highest_ = 0;
    for (int v = 0; v < nodes_; ++v) {
        ++count_[height_[v]];
        if (is_active(v)) activate(v);
    }
    std::copy(arc_begin_.begin(), arc_begin_.end() - 1, current_.begin());
    work_ = 0;
}

void MinCut::activate(int node) {
    active_[height_[node]].push_back(node);
    highest_ = std::max(highest_, height_[node]);
}

void MinCut::raise(int node) {
    const int old = height_[node];
    int least = nodes_;
    for (int k = arc_begin_[node]; k < arc_begin_[node + 1]; ++k) {
        const int arc = arc_list_[k];
        if (residual_[arc] > 0)
            least = std::min(least, height_[arc % 2 == 0 ? to_[arc / 2] : from_[arc / 2]] + 1);
    }
    work_ += arc_begin_[node + 1] - arc_begin_[node] + 12;
    --count_[old];
    if (count_[old] == 0) {
        // No node is left at height `old`, so nodes above that height cannot reach the sink any more.
        for (int v = 0; v < nodes_; ++v) {
            if (height_[v] <= old || height_[v] >= nodes_) continue;
            --count_[height_[v]];
            height_[v] = nodes_;
            ++count_[nodes_];
        }
        work_ += nodes_;
        least = nodes_;
    }
    height_[node] = std::min(least, nodes_);
    ++count_[height_[node]];
    current_[node] = arc_begin_[node];
}

void MinCut::discharge(int node) {
    while (excess_[node] > 0 && height_[node] < nodes_) {
        if (current_[node] == arc_begin_[node + 1]) {
            raise(node);
            continue;
        }
        const int arc = arc_list_[current_[node]];
        const int other = arc % 2 == 0 ? to_[arc / 2] : from_[arc / 2];
        if (residual_[arc] <= 0 || height_[node] != height_[other] + 1) {
            ++current_[node];
            ++work_;
            continue;
        }
        const std::int64_t amount = std::min(excess_[node], residual_[arc]);
        const bool was_active = is_active(other);
        residual_[arc] -= amount;
        residual_[arc ^ 1] += amount;
        excess_[node] -= amount;
        excess_[other] += amount;
        if (!was_active && is_active(other)) activate(other);
    }
}

MinCut::Cut MinCut::solve(const std::function<bool()>& stop) {
    if (arc_begin_.empty()) link_edges();
    residual_.assign(2 * from_.size(), 0);
    for (std::size_t e = 0; e < from_.size(); ++e) residual_[2 * e] = capacity_[e];
    excess_.assign(nodes_, 0);
    current_.assign(nodes_, 0);
    for (int k = arc_begin_[source_]; k < arc_begin_[source_ + 1]; ++k) {
        const int arc = arc_list_[k];
        if (arc % 2 != 0) continue;
        excess_[to_[arc / 2]] += residual_[arc];
        residual_[arc ^ 1] += residual_[arc];
        residual_[arc] = 0;
    }
    relabel_globally();
    const std::int64_t often =
        6 * static_cast<std::int64_t>(nodes_) + static_cast<std::int64_t>(from_.size());
    Cut cut;
    for (std::int64_t steps = 0; highest_ > 0;) {
        if (active_[highest_].empty()) {
            --highest_;
            continue;
        }
        const int node = active_[highest_].back();
        active_[highest_].pop_back();
        if (!is_active(node) || height_[node] != highest_) continue;
        discharge(node);
        if (work_ > often) relabel_globally();
        if (++steps % 4096 == 0 && stop()) {
            cut.finished = false;
            break;
        }
    }
    cut.value = excess_[sink_];
    if (!cut.finished) return cut;
    relabel_globally();
    cut.source_side.resize(nodes_);
    for (int v = 0; v < nodes_; ++v) cut.source_side[v] = height_[v] == nodes_;
    return cut;
}

}  // namespace rematlas
