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
      dead_(seen_.size(), 0) {
    for (int op = 0; op < graph.op_count; ++op) live_inputs_[op] = static_cast<int>(graph.inputs[op].size());
    add_arcs();
    raise(graph.results, kImpossible);
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

/// Depth first, to the sink, into `path_`. When there is no path, what was seen leads nowhere for as long as
/// flow is only sent from outside of it: none of that comes by.
bool RebuildCut::find_path(int start) {
    if (dead_[start] == round_) return false;
    ++search_;
    visited_.assign(1, start);
    path_.assign(1, {start, arc_begin_[start]});
    seen_[start] = search_;
    while (!path_.empty()) {
        Frame& top = path_.back();
        if (top.node < graph_->tensor_count && sink_room_[top.node] > 0) return true;
        const int end = arc_begin_[top.node + 1];
        int arc = top.arc;
        for (; arc < end; ++arc) {
            const int to = arcs_[arc].to;
            if (room_[arc] <= 0 || seen_[to] == search_ || dead_[to] == round_) continue;
            if (to >= graph_->tensor_count && !live_[to - graph_->tensor_count]) continue;
            break;
        }
        top.arc = arc;
        if (arc == end) {
            path_.pop_back();
            if (!path_.empty()) ++path_.back().arc;
            continue;
        }
        const int to = arcs_[arc].to;
        seen_[to] = search_;
        visited_.push_back(to);
        path_.push_back({to, arc_begin_[to]});
    }
    for (int node : visited_) dead_[node] = round_;
    return false;
}

std::int64_t RebuildCut::push_along_path(std::int64_t at_most) {
    const int last = path_.back().node;
    at_most = std::min(at_most, sink_room_[last]);
    for (std::size_t i = 0; i + 1 < path_.size(); ++i) at_most = std::min(at_most, room_[path_[i].arc]);
    for (std::size_t i = 0; i + 1 < path_.size(); ++i) push(path_[i].arc, at_most);
    set(sink_room_[last], sink_room_[last] - at_most);
    set(to_sink_[last], to_sink_[last] + at_most);
    return at_most;
}

/// More flow from the source to these tensors, as much as there can be.
void RebuildCut::raise(std::span<const std::int32_t> needed, std::int64_t enough) {
    for (const std::int32_t tensor : needed) {
        while (value_ < enough && find_path(tensor)) {
            const std::int64_t more = push_along_path(kImpossible);
            set(from_source_[tensor], from_source_[tensor] + more);
            value_ += more;
        }
    }
}

/// Flow that ends in a node is taken away, from there up to the source.
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
            // Flow comes into an op from its outputs, into a tensor from its readers.
            if (arc == forward || room_[arc] <= 0) continue;
            if (at >= graph_->tensor_count && graph_->producer[to] != at - graph_->tensor_count) continue;
            const std::int64_t less = std::min(left, room_[arc]);
            push(arc, less);
            left -= less;
            walk_.push_back({to, less});
        }
    }
}

/// Ops that need nothing that is held can run whenever they are needed: no flow passes, no search need go
/// there.
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
    for (int op : ops) settle_idle(op);
    forget_dead_ends();
    Amounts rest;
    for (int op : ops) {
        std::int64_t excess = 0;
        for (int t : graph_->outputs[op]) excess += std::exchange(to_sink_[t], 0);
        while (excess > 0 && live_[op] && find_path(node_of(op))) excess -= push_along_path(excess);
        if (excess > 0) rest.push_back({node_of(op), excess});
    }
    for (const auto& [node, excess] : rest) give_back(node, excess);
    forget_dead_ends();
}

/// Flow into the tensor ends there; what went on from it to the sink is taken away.
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
    forget_dead_ends();
    raise(graph_->results, enough);
    for (int op : later) raise(graph_->inputs[op], enough);
}

void RebuildCut::change_back(std::int64_t value) {
    for (std::size_t i = log_.size(); i-- > 0;) *log_[i].number = log_[i].before;
    log_.clear();
    logging_ = false;
    value_ = value;
    forget_dead_ends();
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
    // Once no path is left, what the searches saw is what the source still leads to.
    std::vector<std::int32_t> tensors;
    for (int t = 0; t < graph_->tensor_count; ++t) {
        const bool held = dead_[t] == round_ && through(t) > 0;
        if (held && (to_sink_[t] > 0 || dead_[arcs_[maker_arc_[t]].to] != round_)) tensors.push_back(t);
    }
    change_back(before);
    return tensors;
}

}  // namespace rematlas
