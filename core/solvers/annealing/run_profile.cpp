#include "core/solvers/annealing/run_profile.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace rematlas::annealing {

namespace {

constexpr int kEndBlock = 0;
constexpr std::int32_t kLastRank = std::numeric_limits<std::int32_t>::max();

// A gap touches about two blocks run by run and all between by their headers: the sum is least near the
// square root.
std::int32_t block_capacity(std::size_t runs) {
    const double balanced = 1.2 * std::sqrt(static_cast<double>(runs));
    return std::clamp(static_cast<std::int32_t>(balanced), 16, 160);
}

}  // namespace

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

void RunProfile::reset(std::int64_t budget, std::span<const std::int32_t> runs) {
    budget_ = budget;
    capacity_ = block_capacity(runs.size());
    time_ = excess_ = 0;
    over_ = 0;
    size_ = runs.size();
    journal_.clear();
    ++commit_count_;
    forget_aways();
    end_memory_ = graph_.resident_bytes;
    for (const int t : graph_.results) end_memory_ += graph_.bytes[t];
    repeated_.clear();
    for (auto& list : events_) list.clear();
    for (auto& list : runs_of_) list.clear();
    places_.assign(1, Place{.block = kEndBlock});
    free_nodes_.clear();
    free_blocks_.clear();
    unsettled_.clear();
    order_.clear();
    blocks_.assign(1, Block{});
    rank_.assign(1, kLastRank);
    memory_.assign(capacity_, 0);
    block_nodes_.assign(capacity_, kNone);
    load(runs);
    edges_.assign(places_.size(), 0);
}

void RunProfile::load(std::span<const std::int32_t> runs) {
    // Blocks start two thirds full: room for insertions without an early split.
    const int fill = std::max(1, capacity_ * 2 / 3);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (i % fill == 0) new_block(order_.size());
        const int block = order_.back();
        const Node node = static_cast<Node>(places_.size());
        places_.push_back(
            {.op = runs[i], .block = block, .slot = blocks_[block].count, .born = commit_count_ - 1});
        nodes(block)[blocks_[block].count++] = node;
        for (const int t : graph_.inputs[runs[i]]) events_[t].push_back(node);
        for (const int t : graph_.outputs[runs[i]]) events_[t].push_back(node);
        note_run(node);
    }
    if (order_.empty()) new_block(0);
    for (const int t : graph_.results) events_[t].push_back(kEnd);

    std::vector<std::uint32_t> cursor(graph_.tensor_count, 0);
    std::int64_t alive = graph_.resident_bytes;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Node node = static_cast<Node>(i) + 1;
        Place& place = places_[node];
        place.in_place = saved_[place.op] > 0;
        const std::int64_t bytes_before = alive;
        for (const auto& tensors : {graph_.inputs[place.op], graph_.outputs[place.op]}) {
            for (const int t : tensors) {
                const std::uint32_t at = cursor[t]++;
                const bool kept = at + 1 < events_[t].size() && is_use(t, events_[t][at + 1]);
                if (at > 0 && is_use(t, node)) alive -= graph_.bytes[t];
                if (kept) alive += graph_.bytes[t];
            }
        }
        for (const FlatGraph::Pair& pair : graph_.inplace_pairs(place.op)) {
            const std::uint32_t at = cursor[pair.in];
            if (at < events_[pair.in].size() && is_use(pair.in, events_[pair.in][at])) place.in_place = false;
        }
        stored(place.block)[place.slot] =
            bytes_before + own_bytes_[place.op] - (place.in_place ? saved_[place.op] : 0);
    }
    for (const int block : order_) {
        measure_most(block);
        unsettle(block);
    }
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

// The blocks strictly between two runs: `whole` gets the ids of those that are all between, `part` those at
// the ends with their first slot and the one behind the last.
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

bool RunProfile::can_insert(int op, Node before_run) const {
    if (!graph_.recomputable[op] && !runs_of_[op].empty()) return false;
    for (const int t : graph_.inputs[op])
        if (first_at_or_after(t, before_run) == 0) return false;
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
            // Removed nodes are handed out again last in, first out, so the run gets its old handle back.
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
    // Everything from here on sees the new run in its place. It holds what is alive before it and its own
    // bytes; an output whose old copy was alive there is counted in both, which the loop below takes back.
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

// Nothing to do for a block that was and is within the budget.
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

// Whether a run writes over its input depends on the event that follows it, so it is looked at again when
// that changes.
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

int RunProfile::new_block(std::size_t at_rank) {
    int id;
    if (free_blocks_.empty()) {
        id = static_cast<int>(blocks_.size());
        blocks_.emplace_back();
        rank_.push_back(0);
        memory_.resize(memory_.size() + capacity_);
        block_nodes_.resize(block_nodes_.size() + capacity_);
    } else {
        id = free_blocks_.back();
        free_blocks_.pop_back();
        blocks_[id] = Block{};
    }
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(at_rank), id);
    for (std::size_t rank = at_rank; rank < order_.size(); ++rank)
        rank_[order_[rank]] = static_cast<int>(rank);
    return id;
}

void RunProfile::drop_block(int id) {
    if (blocks_[id].unsettled) measure_excess(id);  // it is empty
    const std::size_t at = static_cast<std::size_t>(rank_[id]);
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t rank = at; rank < order_.size(); ++rank) rank_[order_[rank]] = static_cast<int>(rank);
    free_blocks_.push_back(id);
}

void RunProfile::split(int id) {
    const int upper = new_block(static_cast<std::size_t>(rank_[id]) + 1);
    Block& from = blocks_[id];
    Block& to = blocks_[upper];
    const int kept = from.count / 2;
    to.count = from.count - kept;
    to.offset = from.offset;
    from.count = kept;
    for (int slot = 0; slot < to.count; ++slot) {
        const Node run = nodes(id)[kept + slot];
        stored(upper)[slot] = stored(id)[kept + slot];
        nodes(upper)[slot] = run;
        places_[run].block = upper;
        places_[run].slot = slot;
    }
    for (const int block : {id, upper}) {
        measure_most(block);
        unsettle(block);
    }
}

void RunProfile::place_node(Node run, Node before_run, std::int64_t memory) {
    const int wanted = before_run == kEnd ? order_.back() : places_[before_run].block;
    if (blocks_[wanted].count == capacity_) split(wanted);
    const int id = before_run == kEnd ? order_.back() : places_[before_run].block;
    Block& block = blocks_[id];
    const int at = before_run == kEnd ? block.count : places_[before_run].slot;
    std::int64_t* bytes = stored(id);
    Node* runs = nodes(id);
    for (int slot = block.count++; slot > at; --slot) {
        bytes[slot] = bytes[slot - 1];
        runs[slot] = runs[slot - 1];
        places_[runs[slot]].slot = slot;
    }
    bytes[at] = memory - block.offset;
    runs[at] = run;
    places_[run].block = id;
    places_[run].slot = at;
    block.most = block.count == 1 ? bytes[at] : std::max(block.most, bytes[at]);
    unsettle(id);
}

void RunProfile::unplace_node(Node run) {
    const Place& place = places_[run];
    const int id = place.block;
    Block& block = blocks_[id];
    std::int64_t* bytes = stored(id);
    Node* runs = nodes(id);
    const std::int64_t memory = bytes[place.slot];
    --block.count;
    for (int slot = place.slot; slot < block.count; ++slot) {
        bytes[slot] = bytes[slot + 1];
        runs[slot] = runs[slot + 1];
        places_[runs[slot]].slot = slot;
    }
    unsettle(id);
    if (block.count == 0 && order_.size() > 1)
        drop_block(id);
    else if (memory == block.most)
        measure_most(id);
}

RunProfile::Node RunProfile::allocate() {
    if (free_nodes_.empty()) {
        places_.emplace_back();
        edges_.resize(places_.size(), 0);
        return static_cast<Node>(places_.size()) - 1;
    }
    const Node node = free_nodes_.back();
    free_nodes_.pop_back();
    places_[node] = Place{};
    return node;
}

void RunProfile::note_run(Node run) {
    const int op = places_[run].op;
    std::vector<Node>& runs = runs_of_[op];
    runs.push_back(run);
    time_ += graph_.time[op];
    const auto list = [&](Node node) {
        places_[node].repeated_at = static_cast<std::int32_t>(repeated_.size());
        repeated_.push_back(node);
    };
    if (runs.size() == 2) list(runs.front());
    if (runs.size() >= 2) list(run);
}

void RunProfile::forget_run(Node run) {
    const int op = places_[run].op;
    std::vector<Node>& runs = runs_of_[op];
    const auto unlist = [&](Node node) {
        const std::int32_t at = places_[node].repeated_at;
        repeated_[at] = repeated_.back();
        places_[repeated_[at]].repeated_at = at;
        repeated_.pop_back();
        places_[node].repeated_at = -1;
    };
    if (runs.size() >= 2) unlist(run);
    *std::find(runs.begin(), runs.end(), run) = runs.back();
    runs.pop_back();
    if (runs.size() == 1) unlist(runs.front());
    time_ -= graph_.time[op];
}

}  // namespace rematlas::annealing
