#include "core/bounds/rebuild_cut.h"

#include <algorithm>

namespace rematlas {

RebuildCut::RebuildCut(const FlatGraph& graph)
    : graph_(&graph),
      allowed_(graph.op_count, 0),
      capacity_(graph.bytes),
      through_(graph.tensor_count, 0),
      from_source_(graph.tensor_count, 0),
      read_(graph.inputs.items.size(), 0),
      excess_(graph.tensor_count, 0),
      item_(graph.users.items.size(), 0),
      seen_(static_cast<std::size_t>(graph.tensor_count + graph.op_count), 0),
      dead_(seen_.size(), 0) {
    std::vector<std::int32_t> next(graph.users.begin.begin(), graph.users.begin.end() - 1);
    for (int op = 0; op < graph.op_count; ++op) {
        for (std::int32_t i = graph.inputs.begin[op]; i < graph.inputs.begin[op + 1]; ++i)
            item_[next[graph.inputs.items[i]]++] = i;
    }
    raise(graph.results);
}

// The moves from a tensor: on to its maker or the sink; back to an op that reads it; back to the source. From
// an op: on to an input; back to an output.
int RebuildCut::moves_of(int node) const {
    if (node < graph_->tensor_count) return 2 + graph_->users.begin[node + 1] - graph_->users.begin[node];
    const int op = node - graph_->tensor_count;
    return static_cast<int>(graph_->inputs[op].size() + graph_->outputs[op].size());
}

int RebuildCut::target_of(int node, int move) const {
    if (node < graph_->tensor_count) {
        const int maker = graph_->producer[node];
        if (move == 0) return allowed_[maker] ? node_of_op(maker) : kSink;
        const auto users = graph_->users[node];
        const auto user = static_cast<std::size_t>(move - 1);
        return user < users.size() ? node_of_op(users[user]) : kSource;
    }
    const int op = node - graph_->tensor_count;
    const auto inputs = graph_->inputs[op];
    const auto at = static_cast<std::size_t>(move);
    return at < inputs.size() ? inputs[at] : graph_->outputs[op][at - inputs.size()];
}

std::int64_t RebuildCut::room_of(int node, int move) const {
    if (node < graph_->tensor_count) {
        if (move == 0) return capacity_[node] - through_[node];
        const std::int32_t edge = graph_->users.begin[node] + move - 1;
        return edge < graph_->users.begin[node + 1] ? read_[item_[edge]] : from_source_[node];
    }
    const int op = node - graph_->tensor_count;
    const auto inputs = static_cast<int>(graph_->inputs[op].size());
    return move < inputs ? kImpossible
                         : through_[graph_->outputs[op][static_cast<std::size_t>(move - inputs)]];
}

void RebuildCut::push(int node, int move, std::int64_t amount) {
    const auto add = [&](std::int64_t& flow, std::int64_t more) { set(flow, flow + more); };
    if (node < graph_->tensor_count) {
        const std::int32_t edge = graph_->users.begin[node] + move - 1;
        if (move == 0) return add(through_[node], amount);
        if (edge < graph_->users.begin[node + 1]) return add(read_[item_[edge]], -amount);
        return add(from_source_[node], -amount);
    }
    const int op = node - graph_->tensor_count;
    const auto inputs = static_cast<int>(graph_->inputs[op].size());
    if (move < inputs) return add(read_[graph_->inputs.begin[op] + move], amount);
    add(through_[graph_->outputs[op][static_cast<std::size_t>(move - inputs)]], -amount);
}

/// Depth first, into `path_`. When there is no path, what was seen leads nowhere for as long as flow is only
/// sent from nodes outside of it: none of that can come by.
bool RebuildCut::find_path(int start, Goal goal) {
    if (dead_[start] == round_) return false;
    ++search_;
    visited_.assign(1, start);
    path_.assign(1, {start, -1});
    seen_[start] = search_;
    while (!path_.empty()) {
        Frame& top = path_.back();
        if (++top.move == moves_of(top.node)) {
            path_.pop_back();
            continue;
        }
        if (room_of(top.node, top.move) <= 0) continue;
        const int to = target_of(top.node, top.move);
        if (to == (goal == Goal::sink ? kSink : kSource)) return true;
        if (to < 0 || seen_[to] == search_ || dead_[to] == round_) continue;
        seen_[to] = search_;
        visited_.push_back(to);
        path_.push_back({to, -1});
    }
    for (int node : visited_) dead_[node] = round_;
    return false;
}

std::int64_t RebuildCut::push_along_path(std::int64_t at_most) {
    for (const Frame& frame : path_) at_most = std::min(at_most, room_of(frame.node, frame.move));
    for (const Frame& frame : path_) push(frame.node, frame.move, at_most);
    return at_most;
}

void RebuildCut::forget_dead_ends() {
    ++round_;
}

/// Flow that ends in a node goes on to the sink where there is a way, and the rest back to the source.
void RebuildCut::settle(int node, std::int64_t excess) {
    forget_dead_ends();
    while (excess > 0 && find_path(node, Goal::sink)) excess -= push_along_path(excess);
    forget_dead_ends();
    while (excess > 0 && find_path(node, Goal::source)) {
        const std::int64_t returned = push_along_path(excess);
        excess -= returned;
        value_ -= returned;
    }
    forget_dead_ends();
}

/// More flow from the source to these tensors, as much as there can be.
void RebuildCut::raise(std::span<const std::int32_t> needed) {
    for (const std::int32_t tensor : needed) {
        while (value_ < kImpossible && find_path(tensor, Goal::sink)) {
            const std::int64_t more = push_along_path(kImpossible);
            set(from_source_[tensor], from_source_[tensor] + more);
            value_ += more;
        }
    }
}

void RebuildCut::allow(int op) {
    std::int64_t excess = 0;
    for (int t : graph_->outputs[op]) excess += through_[t];
    allowed_[op] = 1;
    settle(node_of_op(op), excess);
}

/// Flow into the tensor ends there; what went on from it to the sink is taken away.
void RebuildCut::stop_flow_through(int tensor) {
    set(excess_[tensor], excess_[tensor] + through_[tensor]);
    missing_.assign(1, {tensor, through_[tensor]});
    set(through_[tensor], 0);
    while (!missing_.empty()) {
        auto [from, amount] = missing_.back();
        missing_.pop_back();
        const int op = graph_->producer[from];
        if (!allowed_[op]) continue;
        for (std::int32_t i = graph_->inputs.begin[op]; i < graph_->inputs.begin[op + 1] && amount > 0; ++i) {
            std::int64_t less = std::min(amount, read_[i]);
            if (less == 0) continue;
            const std::int32_t input = graph_->inputs.items[i];
            amount -= less;
            set(read_[i], read_[i] - less);
            const std::int64_t ended = std::min(less, excess_[input]);
            set(excess_[input], excess_[input] - ended);
            less -= ended;
            set(through_[input], through_[input] - less);
            if (less > 0) missing_.push_back({input, less});
        }
    }
}

void RebuildCut::change_to(Moment moment, std::span<const int> later) {
    logging_ = true;
    for (const auto list : {graph_->inputs[moment.op], graph_->outputs[moment.op]}) {
        for (int t : list) set(capacity_[t], 0);
    }
    if (moment.in_place) {
        for (const FlatGraph::Pair& pair : graph_->inplace_pairs(moment.op))
            set(capacity_[pair.in], kImpossible);
    }
    std::vector<int> stopped;
    for (const auto list : {graph_->inputs[moment.op], graph_->outputs[moment.op]}) {
        for (int t : list) {
            if (capacity_[t] == 0 && through_[t] > 0) stopped.push_back(t);
        }
    }
    for (int t : stopped) stop_flow_through(t);
    for (int t : stopped) {
        const std::int64_t excess = excess_[t];
        set(excess_[t], 0);
        settle(t, excess);
    }
    forget_dead_ends();
    raise(graph_->results);
    for (int op : later) raise(graph_->inputs[op]);
}

void RebuildCut::change_back(std::int64_t value) {
    for (std::size_t i = log_.size(); i-- > 0;) *log_[i].number = log_[i].before;
    log_.clear();
    logging_ = false;
    value_ = value;
    forget_dead_ends();
}

std::int64_t RebuildCut::value_at(Moment moment, std::span<const int> later) {
    const std::int64_t before = value_;
    change_to(moment, later);
    const std::int64_t value = std::min(value_, kImpossible);
    change_back(before);
    return value;
}

std::int64_t RebuildCut::least_at(Moment moment) const {
    std::int64_t least = value_;
    for (const auto list : {graph_->inputs[moment.op], graph_->outputs[moment.op]}) {
        for (int t : list) least -= through_[t];
    }
    return std::max<std::int64_t>(least, 0);
}

std::vector<std::int32_t> RebuildCut::tensors_at(Moment moment, std::span<const int> later) {
    const std::int64_t before = value_;
    change_to(moment, later);
    // Once no path is left, what a search saw is what the source still leads to.
    std::vector<std::int32_t> tensors;
    for (int t = 0; t < graph_->tensor_count; ++t) {
        if (dead_[t] != round_ || capacity_[t] == 0) continue;
        const int to = target_of(t, 0);
        if (to == kSink || dead_[to] != round_) tensors.push_back(t);
    }
    change_back(before);
    return tensors;
}

}  // namespace rematlas
