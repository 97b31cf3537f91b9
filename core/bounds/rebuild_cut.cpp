#include "core/bounds/rebuild_cut.h"

#include <algorithm>

namespace rematlas {

RebuildCut::RebuildCut(const FlatGraph& graph)
    : graph_(&graph),
      allowed_(graph.op_count, 0),
      live_inputs_(graph.op_count, 0),
      live_(graph.op_count, 1),
      maker_arc_(graph.tensor_count, -1),
      sink_room_(graph.bytes),
      to_sink_(graph.tensor_count, 0),
      from_source_(graph.tensor_count, 0),
      excess_(graph.tensor_count, 0),
      seen_(static_cast<std::size_t>(graph.tensor_count + graph.op_count), 0),
      level_(seen_.size(), 0),
      next_arc_(seen_.size(), 0) {
    for (int op = 0; op < graph.op_count; ++op) live_inputs_[op] = static_cast<int>(graph.inputs[op].size());
    add_arcs();
    raise({}, kImpossible);
}

void RebuildCut::add_arcs() {
    std::vector<std::pair<int, int>> edges;
    for (int op = 0; op < graph_->op_count; ++op) {
        if (!graph_->required[op]) continue;
        for (int t : graph_->outputs[op]) edges.push_back({t, node_of(op)});
        for (int t : graph_->inputs[op]) edges.push_back({node_of(op), t});
    }
    arc_begin_.assign(seen_.size() + 1, 0);
    for (const auto& [from, to] : edges) {
        ++arc_begin_[from + 1];
        ++arc_begin_[to + 1];
    }
    for (std::size_t v = 0; v < seen_.size(); ++v) arc_begin_[v + 1] += arc_begin_[v];
    std::vector<int> next(arc_begin_.begin(), arc_begin_.end() - 1);
    arcs_.resize(2 * edges.size());
    room_.assign(arcs_.size(), 0);
    for (const auto& [from, to] : edges) {
        const int there = next[from]++, back = next[to]++;
        arcs_[there] = {to, back};
        arcs_[back] = {from, there};
        if (from < graph_->tensor_count)
            maker_arc_[from] = there;
        else
            room_[there] = kImpossible;
    }
}

/// Computes how far each node is from the starts. Ends at the nearest nodes whose arc to the sink has
/// capacity left. Returns whether there is such a node.
bool RebuildCut::find_levels(const Amounts& starts) {
    ++search_;
    queue_.clear();
    const auto see = [&](int node, int level) {
        seen_[node] = search_;
        level_[node] = level;
        next_arc_[node] = arc_begin_[node];
        queue_.push_back(node);
    };
    for (const auto& [node, amount] : starts) {
        if (amount > 0 && seen_[node] != search_) see(node, 0);
    }
    int last = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        const int node = queue_[i];
        if (level_[node] > last) break;
        if (has_room_to_sink(node)) last = level_[node];
        if (level_[node] == last) continue;
        for (int arc = arc_begin_[node]; arc < arc_begin_[node + 1]; ++arc) {
            const int to = arcs_[arc].to;
            if (room_[arc] > 0 && seen_[to] != search_ && is_live(to)) see(to, level_[node] + 1);
        }
    }
    return last < std::numeric_limits<int>::max();
}

/// Writes a path to the sink, along growing distances, into `path_`. Returns whether there is a path. A node
/// from which no path leads to the sink is not tried again.
bool RebuildCut::find_path(int start) {
    path_.assign(1, start);
    while (!has_room_to_sink(path_.back())) {
        const int node = path_.back();
        int& arc = next_arc_[node];
        const auto is_next = [&] {
            const int to = arcs_[arc].to;
            return room_[arc] > 0 && seen_[to] == search_ && level_[to] == level_[node] + 1;
        };
        while (arc < arc_begin_[node + 1] && !is_next()) ++arc;
        if (arc < arc_begin_[node + 1]) {
            path_.push_back(arcs_[arc].to);
            continue;
        }
        path_.pop_back();
        if (path_.empty()) return false;
        ++next_arc_[path_.back()];
    }
    return true;
}

std::int64_t RebuildCut::push_along_path(std::int64_t at_most) {
    const int last = path_.back();
    at_most = std::min(at_most, sink_room_[last]);
    for (std::size_t i = 0; i + 1 < path_.size(); ++i)
        at_most = std::min(at_most, room_[next_arc_[path_[i]]]);
    for (std::size_t i = 0; i + 1 < path_.size(); ++i) push(next_arc_[path_[i]], at_most);
    set(sink_room_[last], sink_room_[last] - at_most);
    set(to_sink_[last], to_sink_[last] + at_most);
    return at_most;
}

/// Sends flow from the nodes of `starts` to the sink: from each node at most its amount, and at most `enough`
/// in all. Reduces each amount by the flow sent.
void RebuildCut::send(Amounts& starts, std::int64_t enough) {
    while (enough > 0 && find_levels(starts)) {
        for (auto& [node, amount] : starts) {
            if (seen_[node] != search_ || level_[node] != 0) continue;
            while (amount > 0 && enough > 0 && find_path(node)) {
                const std::int64_t sent = push_along_path(amount);
                amount -= sent;
                enough -= sent;
            }
        }
    }
}

/// Sends more flow from the source through the needed tensors, until no more is possible or the whole flow is
/// `enough`.
void RebuildCut::raise(std::span<const int> later, std::int64_t enough) {
    Amounts starts;
    for (const int op : later) {
        for (const std::int32_t t : graph_->inputs[op]) {
            if (!graph_->is_result[t]) starts.push_back({t, kImpossible});
        }
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    for (const std::int32_t t : graph_->results) starts.push_back({t, kImpossible});
    send(starts, enough - value_);
    for (const auto& [tensor, left] : starts) {
        if (left == kImpossible) continue;
        set(from_source_[tensor], from_source_[tensor] + kImpossible - left);
        value_ += kImpossible - left;
    }
}

/// Removes `amount` of the flow that ends in the node, backwards along the paths of this flow to the source.
void RebuildCut::give_back(int node, std::int64_t amount) {
    walk_.assign(1, {node, amount});
    while (!walk_.empty()) {
        auto [at, left] = walk_.back();
        walk_.pop_back();
        if (at < graph_->tensor_count) {
            const std::int64_t returned = std::min(left, from_source_[at]);
            set(from_source_[at], from_source_[at] - returned);
            value_ -= returned;
            left -= returned;
        }
        const int forward = at < graph_->tensor_count ? maker_arc_[at] : -1;
        for (int arc = arc_begin_[at]; arc < arc_begin_[at + 1] && left > 0; ++arc) {
            const int to = arcs_[arc].to;
            // Flow enters an op from its outputs, and a tensor from its readers.
            if (arc == forward || room_[arc] <= 0) continue;
            if (at >= graph_->tensor_count && graph_->producer[to] != at - graph_->tensor_count) continue;
            const std::int64_t less = std::min(left, room_[arc]);
            push(arc, less);
            left -= less;
            walk_.push_back({to, less});
        }
    }
}

/// Marks `op` as idle (not live) if it needs no held tensor, and does the same for its descendants. An idle
/// op can run whenever it is needed. No flow passes through it, and searches skip it.
void RebuildCut::settle_idle(int op) {
    std::vector<int> walk{op};
    while (!walk.empty()) {
        const int at = walk.back();
        walk.pop_back();
        if (!allowed_[at] || live_inputs_[at] > 0 || !live_[at]) continue;
        live_[at] = 0;
        for (int t : graph_->outputs[at]) {
            for (int user : graph_->users[t]) {
                --live_inputs_[user];
                walk.push_back(user);
            }
        }
    }
}

void RebuildCut::allow(std::span<const int> ops) {
    for (int op : ops) {
        allowed_[op] = 1;
        for (int t : graph_->outputs[op]) {
            const int arc = maker_arc_[t];
            room_[arc] = sink_room_[t];
            room_[arcs_[arc].back] = to_sink_[t];
            sink_room_[t] = 0;
        }
    }
    Amounts ended;
    for (int op : ops) {
        ended.push_back({node_of(op), 0});
        for (int t : graph_->outputs[op]) ended.back().second += std::exchange(to_sink_[t], 0);
    }
    send(ended, kImpossible);
    for (const auto& [node, left] : ended) give_back(node, left);
    // This must come last: the flow above was rerouted through ops that become idle only now.
    for (int op : ops) settle_idle(op);
}

/// Makes the flow into the tensor end at the tensor, and removes the flow from the tensor to the sink.
void RebuildCut::stop_flow_through(int tensor) {
    Amounts walk{{tensor, through(tensor)}};
    set(excess_[tensor], excess_[tensor] + through(tensor));
    while (!walk.empty()) {
        auto [at, amount] = walk.back();
        walk.pop_back();
        const std::int64_t ended = std::min(amount, to_sink_[at]);
        set(to_sink_[at], to_sink_[at] - ended);
        set(sink_room_[at], sink_room_[at] + ended);
        amount -= ended;
        if (amount == 0) continue;
        push(arcs_[maker_arc_[at]].back, amount);
        const int maker = arcs_[maker_arc_[at]].to;
        for (int arc = arc_begin_[maker]; arc < arc_begin_[maker + 1] && amount > 0; ++arc) {
            const int input = arcs_[arc].to;
            const int back = arcs_[arc].back;
            if (maker_arc_[input] == back || room_[back] <= 0) continue;
            std::int64_t less = std::min(amount, room_[back]);
            push(back, less);
            amount -= less;
            const std::int64_t absorbed = std::min(less, excess_[input]);
            set(excess_[input], excess_[input] - absorbed);
            if (less > absorbed) walk.push_back({input, less - absorbed});
        }
    }
}

void RebuildCut::change_to(Moment moment, std::span<const int> later, std::int64_t enough) {
    logging_ = true;
    std::vector<int> there;
    for (const auto list : {graph_->inputs[moment.op], graph_->outputs[moment.op]})
        there.insert(there.end(), list.begin(), list.end());
    if (moment.in_place) {
        for (const FlatGraph::Pair& pair : graph_->inplace_pairs(moment.op)) {
            std::erase(there, pair.in);
            std::int64_t& room =
                allowed_[graph_->producer[pair.in]] ? room_[maker_arc_[pair.in]] : sink_room_[pair.in];
            set(room, kImpossible);
        }
    }
    for (int t : there) stop_flow_through(t);
    for (int t : there) {
        set(sink_room_[t], 0);
        set(room_[maker_arc_[t]], 0);
    }
    for (int t : there) {
        const std::int64_t excess = excess_[t];
        set(excess_[t], 0);
        give_back(t, excess);
    }
    raise(later, enough);
}

void RebuildCut::change_back(std::int64_t value) {
    for (std::size_t i = log_.size(); i-- > 0;) *log_[i].number = log_[i].before;
    log_.clear();
    logging_ = false;
    value_ = value;
}

std::int64_t RebuildCut::value_at(Moment moment, std::span<const int> later, std::int64_t enough) {
    const std::int64_t before = value_;
    change_to(moment, later, enough);
    const std::int64_t value = std::min(value_, kImpossible);
    change_back(before);
    return value;
}

std::int64_t RebuildCut::least_at(Moment moment) const {
    std::int64_t least = value_;
    for (const auto list : {graph_->inputs[moment.op], graph_->outputs[moment.op]}) {
        for (int t : list) least -= through(t);
    }
    return std::max<std::int64_t>(least, 0);
}

std::vector<std::int32_t> RebuildCut::tensors_at(Moment moment, std::span<const int> later) {
    const std::int64_t before = value_;
    change_to(moment, later, kImpossible);
    // The last search found no path to the sink. So the nodes that it saw are on the source's side of the
    // minimum cut.
    std::vector<std::int32_t> tensors;
    for (int t = 0; t < graph_->tensor_count; ++t) {
        const bool held = seen_[t] == search_ && through(t) > 0;
        if (held && (to_sink_[t] > 0 || seen_[arcs_[maker_arc_[t]].to] != search_)) tensors.push_back(t);
    }
    change_back(before);
    return tensors;
}

}  // namespace rematlas
