// The part of RunProfile that handles the gaps in which tensors are away from the device.
#include <cassert>

#include "core/solvers/annealing/run_profile.h"

namespace rematlas::annealing {

RunProfile::AwayId RunProfile::away_before(int tensor, Node use) const {
    for (const AwayId away : aways_of_[tensor])
        if (aways_[away].use == use) return away;
    return -1;
}

RunProfile::AwayId RunProfile::set_away(int tensor, Node use) {
    AwayId id;
    if (free_aways_.empty()) {
        id = static_cast<AwayId>(aways_.size());
        aways_.emplace_back();
        committed_.emplace_back();
        is_touched_.push_back(0);
    } else {
        id = free_aways_.back();
        free_aways_.pop_back();
    }
    touch(id);
    open(id, {.tensor = tensor, .use = use, .first = use, .behind = use});
    return id;
}

void RunProfile::set_here(AwayId away) {
    touch(away);
    close(away);
}

void RunProfile::move_away(AwayId id, Node first, Node behind) {
    Away& away = aways_[id];
    if (away.first == first && away.behind == behind) return;
    touch(id);
    fill(id, 1);
    mark_edges(away, -1);
    away.first = first;
    away.behind = behind;
    mark_edges(away, 1);
    fill(id, -1);
}

void RunProfile::list_runs(std::vector<Node>& runs) const {
    runs.clear();
    for (const int block : order_) runs.insert(runs.end(), nodes(block), nodes(block) + blocks_[block].count);
}

RunProfile::Position RunProfile::before_or_end(Node run) const {
    if (run == kEnd || run == kNone) return {static_cast<std::int32_t>(order_.size()), 0};
    return position(run);
}

/// Adds `sign` times the tensor's bytes to the memory of the runs during which the tensor is away.
void RunProfile::fill(AwayId id, std::int64_t sign) {
    const Away& away = aways_[id];
    const std::int64_t bytes = sign * graph_.bytes[away.tensor];
    if (away.first != away.behind) add(before_or_end(away.first), before_or_end(away.behind), bytes);
    if (away.behind == kNone) end_memory_ += bytes;
}

void RunProfile::touch(AwayId id) {
    if (is_touched_[id]) return;
    is_touched_[id] = 1;
    touched_.push_back(id);
    committed_[id] = aways_[id];
}

void RunProfile::mark_edges(const Away& away, int by) {
    edges_[away.first] += by;
    if (away.behind != kNone) edges_[away.behind] += by;
}

void RunProfile::open(AwayId id, const Away& as) {
    aways_[id] = as;
    aways_of_[as.tensor].push_back(id);
    mark_edges(as, 1);
    fill(id, -1);
}

void RunProfile::close(AwayId id) {
    Away& away = aways_[id];
    if (away.tensor < 0) return;
    fill(id, 1);
    mark_edges(away, -1);
    std::erase(aways_of_[away.tensor], id);
    away = {};
    free_aways_.push_back(id);
}

void RunProfile::forget_aways() {
    aways_.clear();
    free_aways_.clear();
    committed_.clear();
    touched_.clear();
    is_touched_.clear();
    for (auto& list : aways_of_) list.clear();
}

// Called before a run of the op is inserted before `before_run`. If an input or an output of the op is away
// in the gap that the new run will divide, closes that gap. Returns the closed gaps of the inputs.
std::vector<RunProfile::Away> RunProfile::close_across(int op, Node before_run) {
    std::vector<Away> cut;
    const auto close_gap = [&](int t, bool stays_used) {
        if (aways_of_[t].empty()) return;
        const std::size_t at = first_at_or_after(t, before_run);
        if (at == events_[t].size()) return;
        const AwayId id = away_before(t, events_[t][at]);
        if (id < 0) return;
        if (stays_used) cut.push_back(aways_[id]);
        touch(id);
        close(id);
    };
    for (const int t : graph_.inputs[op]) close_gap(t, true);
    for (const int t : graph_.outputs[op]) close_gap(t, false);
    return cut;
}

// Called when `run` has divided the gap `away`. Marks the tensor as away in one of the two new gaps: the gap
// after `run` if no other run comes between the previous event and `run`, else the gap before `run`. The gap
// before `run` is usually longer, because most runs are inserted near the end of a gap.
void RunProfile::reopen_beside(const Away& away, Node run) {
    const std::size_t at = index_of(away.tensor, run);
    assert(at > 0);
    const bool is_first = next(events_[away.tensor][at - 1]) == run;
    set_away(away.tensor, is_first ? away.use : run);
}

// Called when a use is removed. If the tensor is away in the gap before this use, that gap is extended to the
// next use. If there is no next use, or if the tensor is already away before it, the gap is closed instead.
void RunProfile::join_away(int tensor, std::size_t event) {
    const AwayId id = away_before(tensor, events_[tensor][event]);
    if (id < 0) return;
    const Node next = event + 1 < events_[tensor].size() ? events_[tensor][event + 1] : kNone;
    touch(id);
    if (next == kNone || !is_use(tensor, next) || away_before(tensor, next) >= 0)
        close(id);
    else
        aways_[id].use = next;
}

// Where the runs during which a tensor is away begin or end at `from`, lets them begin or end at `to`. The
// counts of bytes stay right: a run that is placed right before another run holds the same bytes as the other
// run, apart from the bytes that only one of the two ops needs.
void RunProfile::shift_edges(Node from, Node to) {
    for (AwayId id = 0; id < static_cast<AwayId>(aways_.size()); ++id) {
        Away& away = aways_[id];
        if (away.tensor < 0) continue;
        for (Node* edge : {&away.first, &away.behind}) {
            if (*edge != from) continue;
            touch(id);
            --edges_[from];
            *edge = to;
            ++edges_[to];
        }
    }
}

// Restores the gaps of the last commit. The runs must have been restored before.
void RunProfile::restore_aways() {
    for (const AwayId id : touched_) close(id);
    for (const AwayId id : touched_) {
        is_touched_[id] = 0;
        if (committed_[id].tensor < 0) continue;
        std::erase(free_aways_, id);
        open(id, committed_[id]);
    }
    touched_.clear();
}

}  // namespace rematlas::annealing
