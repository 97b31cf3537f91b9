// The part of RunProfile that assigns runs to blocks and slots.
#include <algorithm>
#include <cmath>

#include "core/solvers/annealing/run_profile.h"

namespace rematlas::annealing {
namespace {

// Returns the best size of a block. An edit of a gap changes the runs of about two blocks, and the headers of
// all blocks between them. The sum is least near the square root of the number of runs.
std::int32_t block_capacity(std::size_t runs) {
    const double balanced = 1.2 * std::sqrt(static_cast<double>(runs));
    return std::clamp(static_cast<std::int32_t>(balanced), 16, 160);
}

}  // namespace

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
    // Blocks start two thirds full, so that there is room for insertions without an early split.
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
    if (blocks_[id].unsettled) measure_excess(id);  // the block is empty now, so its excess becomes 0
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
