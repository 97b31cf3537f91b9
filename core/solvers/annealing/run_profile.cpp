#include "core/solvers/annealing/run_profile.h"

#include <algorithm>
#include <cassert>

namespace rematlas::annealing {

RunProfile::RunProfile(const FlatGraph& graph, std::int64_t budget, std::span<const std::int32_t> runs)
    : graph_(graph),
      events_(graph.tensor_count),
      runs_of_(graph.op_count),
      own_bytes_(graph.op_count),
      saved_(graph.op_count),
      overwritable_(graph.tensor_count),
      aways_of_(graph.tensor_count) {
    for (int op = 0; op < graph.op_count; ++op) {
        own_bytes_[op] = graph.workspace[op];
        for (const int t : graph.outputs[op]) own_bytes_[op] += graph.bytes[t];
        for (const FlatGraph::Pair& pair : graph.inplace_pairs(op)) {
            saved_[op] += pair.saved;
            overwritable_[pair.in] = 1;
        }
    }
    reset(budget, runs);
}

std::int64_t RunProfile::peak() const {
    std::int64_t peak = end_memory_;
    for (const int block : order_) peak = std::max(peak, blocks_[block].most + blocks_[block].offset);
    return peak;
}

std::int64_t RunProfile::memory(Node run) const {
    if (run == kEnd) return end_memory_;
    const Place& place = places_[run];
    return stored(place.block)[place.slot] + blocks_[place.block].offset;
}

RunSequence RunProfile::sequence() const {
    RunSequence runs;
    runs.reserve(size_);
    for (const int block : order_)
        for (int slot = 0; slot < blocks_[block].count; ++slot)
            runs.push_back(places_[nodes(block)[slot]].op);
    return runs;
}

RunProfile::Node RunProfile::next(Node run) const {
    const Place& place = places_[run];
    if (place.slot + 1 < blocks_[place.block].count) return nodes(place.block)[place.slot + 1];
    const std::size_t rank = static_cast<std::size_t>(rank_[place.block]) + 1;
    return rank < order_.size() ? nodes(order_[rank])[0] : kEnd;
}

RunProfile::Node RunProfile::previous(Node run) const {
    const Place& place = places_[run];
    if (place.slot > 0) return nodes(place.block)[place.slot - 1];
    const std::int32_t rank = run == kEnd ? static_cast<std::int32_t>(order_.size()) : rank_[place.block];
    if (rank == 0) return kNone;
    const int block = order_[rank - 1];
    return blocks_[block].count > 0 ? nodes(block)[blocks_[block].count - 1] : kNone;
}

RunProfile::Node RunProfile::over_run(int k) const {
    assert(k < over_count());
    settle();
    for (const int block : order_) {
        if (k >= blocks_[block].over) {
            k -= blocks_[block].over;
            continue;
        }
        const std::int64_t limit = budget_ - blocks_[block].offset;
        for (int slot = 0; slot < blocks_[block].count; ++slot)
            if (stored(block)[slot] > limit && k-- == 0) return nodes(block)[slot];
    }
    return kNone;
}

std::size_t RunProfile::index_of(int tensor, Node event) const {
    const std::vector<Node>& events = events_[tensor];
    if (events.size() > 24) return first_at_or_after(tensor, event);
    std::size_t i = 0;
    while (events[i] != event) ++i;
    return i;
}

std::size_t RunProfile::first_at_or_after(int tensor, Node run) const {
    const std::vector<Node>& events = events_[tensor];
    const std::uint64_t at = key(run);
    return std::partition_point(events.begin(), events.end(), [&](Node event) { return key(event) < at; }) -
           events.begin();
}

bool RunProfile::alive_before(int tensor, Node run) const {
    const std::size_t at = first_at_or_after(tensor, run);
    return at > 0 && at < events_[tensor].size() && is_use(tensor, events_[tensor][at]);
}

// Visits the runs strictly between two runs. Calls `whole` with the id of each block whose runs are all in
// between. Calls `part` for a block at either end, with its id, the first slot to visit and the slot after
// the last one.
template <class Whole, class Part>
void RunProfile::visit(Node after_run, Node before_run, const Whole& whole, const Part& part) const {
    const Position from = after(after_run);
    const auto ranks = static_cast<std::int32_t>(order_.size());
    Position to = position(before_run);
    if (to.rank == kLastRank) to = {ranks, 0};
    if (from.rank == to.rank) {
        if (from.slot < to.slot) part(order_[from.rank], from.slot, to.slot);
        return;
    }
    if (from.rank < ranks) part(order_[from.rank], from.slot, blocks_[order_[from.rank]].count);
    for (std::int32_t rank = from.rank + 1; rank < to.rank; ++rank) whole(order_[rank]);
    if (to.rank < ranks) part(order_[to.rank], 0, to.slot);
}

std::int64_t RunProfile::most_between(Node after_run, Node before_run) const {
    std::int64_t most = 0;
    visit(
        after_run, before_run, [&](int id) { most = std::max(most, blocks_[id].most + blocks_[id].offset); },
        [&](int id, int first, int last) {
            for (int slot = first; slot < last; ++slot)
                most = std::max(most, stored(id)[slot] + blocks_[id].offset);
        });
    return most;
}

std::int64_t RunProfile::excess_between(Node after_run, Node before_run, std::int64_t bytes) const {
    settle();
    std::int64_t sum = 0;
    visit(
        after_run, before_run, [&](int id) { sum += std::min(blocks_[id].excess, blocks_[id].over * bytes); },
        [&](int id, int first, int last) {
            if (blocks_[id].over == 0) return;
            const std::int64_t limit = budget_ - blocks_[id].offset;
            for (int slot = first; slot < last; ++slot)
                sum += std::clamp<std::int64_t>(stored(id)[slot] - limit, 0, bytes);
        });
    return sum;
}

bool RunProfile::is_useless(Node run) const {
    const int op = places_[run].op;
    if (graph_.required[op] && runs_of_[op].size() < 2) return false;
    for (const int t : graph_.outputs[op]) {
        const std::size_t next = index_of(t, run) + 1;
        if (next < events_[t].size() && is_use(t, events_[t][next])) return false;
    }
    return true;
}

bool RunProfile::can_remove(Node run) const {
    const int op = places_[run].op;
    if (graph_.required[op] && runs_of_[op].size() < 2) return false;
    for (const int t : graph_.outputs[op]) {
        const std::size_t at = index_of(t, run);
        if (at == 0 && at + 1 < events_[t].size() && is_use(t, events_[t][at + 1])) return false;
    }
    return true;
}

RunProfile::Node RunProfile::insert(int op, Node before_run) {
    const Node run = do_insert(op, before_run);
    journal_.push_back({run, -1, kNone});
    return run;
}

void RunProfile::remove(Node run) {
    journal_.push_back({run, places_[run].op, next(run)});
    do_remove(run);
}

void RunProfile::undo() {
    for (const AwayId away : touched_) close(away);
    for (; !journal_.empty(); journal_.pop_back()) {
        const Edit& edit = journal_.back();
        if (edit.op < 0) {
            do_remove(edit.node);
        } else {
            // The node that was removed last is reused first, so the run gets its old handle back.
            [[maybe_unused]] const Node node = do_insert(edit.op, edit.successor);
            assert(node == edit.node);
        }
    }
    restore_aways();
    ++commit_count_;
}

void RunProfile::commit() {
    journal_.clear();
    for (const AwayId away : touched_) is_touched_[away] = 0;
    touched_.clear();
    ++commit_count_;
}

RunProfile::Position RunProfile::after(Node run) const {
    if (run == kNone) return {0, 0};
    if (run == kEnd) return {static_cast<std::int32_t>(order_.size()), 0};
    return {rank_[places_[run].block], places_[run].slot + 1};
}

std::int64_t RunProfile::memory_before(Node run) const {
    if (run == kEnd) return end_memory_;
    const Place& place = places_[run];
    return memory(run) - own_bytes_[place.op] + (place.in_place ? saved_[place.op] : 0);
}

RunProfile::Node RunProfile::do_insert(int op, Node before_run) {
    const Node run = allocate();
    places_[run].op = op;
    places_[run].in_place = false;
    places_[run].born = commit_count_;
    const std::vector<Away> cut = close_across(op, before_run);
    place_node(run, before_run, memory_before(before_run) + own_bytes_[op]);
    if (has_edges(before_run)) shift_edges(before_run, run);
    // The new run holds the tensors that are alive before it, and its own bytes. If an old value of an output
    // is alive before it, the output is counted twice until the loop over the outputs corrects this.
    for (const int t : graph_.inputs[op]) {
        std::vector<Node>& events = events_[t];
        const std::size_t at = first_at_or_after(t, run);
        if (at == events.size() || !is_use(t, events[at]))
            add(after(at > 0 ? events[at - 1] : kNone), after(run), graph_.bytes[t]);
        events.insert(events.begin() + static_cast<std::ptrdiff_t>(at), run);
    }
    for (const int t : graph_.outputs[op]) {
        std::vector<Node>& events = events_[t];
        const std::size_t at = first_at_or_after(t, run);
        if (at < events.size() && is_use(t, events[at]))
            add(after(at > 0 ? events[at - 1] : kNone), after(run), -graph_.bytes[t]);
        events.insert(events.begin() + static_cast<std::ptrdiff_t>(at), run);
    }
    for (const Away& away : cut) reopen_beside(away, run);
    note_run(run);
    ++size_;
    for (const auto& tensors : {graph_.inputs[op], graph_.outputs[op]})
        for (const int t : tensors)
            if (overwritable_[t]) update_in_place_before(t, index_of(t, run));
    update_in_place(run);
    return run;
}

void RunProfile::do_remove(Node run) {
    const int op = places_[run].op;
    if (has_edges(run)) shift_edges(run, next(run));
    for (const int t : graph_.inputs[op]) {
        std::vector<Node>& events = events_[t];
        const std::size_t at = index_of(t, run);
        if (!aways_of_[t].empty()) join_away(t, at);
        if (at + 1 == events.size() || !is_use(t, events[at + 1]))
            add(after(at > 0 ? events[at - 1] : kNone), after(run), -graph_.bytes[t]);
        events.erase(events.begin() + static_cast<std::ptrdiff_t>(at));
        if (overwritable_[t]) update_in_place_before(t, at);
    }
    for (const int t : graph_.outputs[op]) {
        std::vector<Node>& events = events_[t];
        const std::size_t at = index_of(t, run);
        if (at + 1 < events.size() && is_use(t, events[at + 1]))
            add(after(at > 0 ? events[at - 1] : kNone), after(run), graph_.bytes[t]);
        events.erase(events.begin() + static_cast<std::ptrdiff_t>(at));
        if (overwritable_[t]) update_in_place_before(t, at);
    }
    forget_run(run);
    unplace_node(run);
    --size_;
    free_nodes_.push_back(run);
}

void RunProfile::add(Position from, Position to, std::int64_t bytes) {
    if (bytes == 0) return;
    if (from.rank == to.rank) {
        if (from.slot < to.slot) add_part(order_[from.rank], from.slot, to.slot, bytes);
        return;
    }
    if (from.rank >= static_cast<std::int32_t>(order_.size())) return;
    add_part(order_[from.rank], from.slot, blocks_[order_[from.rank]].count, bytes);
    for (std::int32_t rank = from.rank + 1; rank < to.rank; ++rank) add_whole(order_[rank], bytes);
    if (to.rank < static_cast<std::int32_t>(order_.size())) add_part(order_[to.rank], 0, to.slot, bytes);
}

void RunProfile::add_whole(int id, std::int64_t bytes) {
    Block& block = blocks_[id];
    block.offset += bytes;
    unsettle(id);
}

void RunProfile::add_part(int id, int from, int to, std::int64_t bytes) {
    Block& block = blocks_[id];
    if (from >= to) return;
    if (from == 0 && to == block.count) return add_whole(id, bytes);
    std::int64_t* memory = stored(id);
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (int slot = from; slot < to; ++slot) {
        memory[slot] += bytes;
        most = std::max(most, memory[slot]);
    }
    if (bytes > 0 || most - bytes < block.most)
        block.most = std::max(block.most, most);
    else
        measure_most(id);
    unsettle(id);
}

void RunProfile::measure_most(int id) {
    const std::int64_t* memory = stored(id);
    std::int64_t most = std::numeric_limits<std::int64_t>::min() / 4;
    for (int slot = 0; slot < blocks_[id].count; ++slot) most = std::max(most, memory[slot]);
    blocks_[id].most = most;
}

// Notes that the excess of the block must be counted again. Notes nothing if the block was within the budget
// and still is.
void RunProfile::unsettle(int id) {
    Block& block = blocks_[id];
    if (block.unsettled || (block.over == 0 && block.most + block.offset <= budget_)) return;
    block.unsettled = true;
    unsettled_.push_back(id);
}

void RunProfile::settle() const {
    for (const int id : unsettled_)
        if (blocks_[id].unsettled) measure_excess(id);
    unsettled_.clear();
}

void RunProfile::measure_excess(int id) const {
    Block& block = blocks_[id];
    std::int64_t excess = 0;
    std::int32_t over = 0;
    const std::int64_t limit = budget_ - block.offset;
    if (block.most > limit) {
        const std::int64_t* memory = stored(id);
        for (int slot = 0; slot < block.count; ++slot) {
            const std::int64_t above = memory[slot] - limit;
            excess += above > 0 ? above : 0;
            over += above > 0;
        }
    }
    excess_ += excess - block.excess;
    over_ += over - block.over;
    block.excess = excess;
    block.over = over;
    block.unsettled = false;
}

// Called when an event of the tensor has changed. Updates whether the run before this event is in place,
// because that depends on the tensor's next event.
void RunProfile::update_in_place_before(int tensor, std::size_t event) {
    if (event == 0) return;
    const Node run = events_[tensor][event - 1];
    if (run != kEnd) update_in_place(run);
}

void RunProfile::update_in_place(Node run) {
    Place& place = places_[run];
    if (saved_[place.op] == 0) return;
    bool in_place = true;
    for (const FlatGraph::Pair& pair : graph_.inplace_pairs(place.op)) {
        const std::size_t next = index_of(pair.in, run) + 1;
        if (next < events_[pair.in].size() && is_use(pair.in, events_[pair.in][next])) in_place = false;
    }
    if (in_place == place.in_place) return;
    place.in_place = in_place;
    add_part(place.block, place.slot, place.slot + 1, in_place ? -saved_[place.op] : saved_[place.op]);
}

}  // namespace rematlas::annealing
