#include "core/solvers/hierarchical/block_option.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rematlas::hierarchical {

namespace {

std::int64_t bytes_of(const FlatGraph& flat, const std::vector<std::int32_t>& tensors) {
    return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                           [&](std::int64_t sum, int t) { return sum + flat.bytes[t]; });
}

/// Fills `option.held` with the passed-on tensors that the second part needs from the first part. Fills
/// `option.reread` with the given tensors that the second part reads.
void note_reads(const Subproblem& block, BlockOption& option) {
    if (block.outside < 0) return;
    const FlatGraph& flat = block.flat;
    std::vector<std::uint8_t> made(flat.tensor_count, 0), held(flat.tensor_count, 0);
    for (const int op : option.backward) {
        for (const int t : flat.inputs[op]) held[t] |= !made[t];
        for (const int t : flat.outputs[op]) made[t] = 1;
        for (const int t : block.given_inputs[op])
            option.reread.push_back(static_cast<std::int32_t>(
                std::lower_bound(block.given.begin(), block.given.end(), t) - block.given.begin()));
    }
    for (const int t : block.passed_on)
        if (held[t] || (flat.is_result[t] && !made[t])) option.held.push_back(t);
    std::sort(option.reread.begin(), option.reread.end());
    option.reread.erase(std::unique(option.reread.begin(), option.reread.end()), option.reread.end());
}

}  // namespace

bool BlockOption::dominates(const BlockOption& other) const {
    return time() <= other.time() && saved <= other.saved && forward_peak <= other.forward_peak &&
           backward_peak <= other.backward_peak && held.size() <= other.held.size() &&
           reread.size() <= other.reread.size();
}

BlockOption measured(const Subproblem& block, const RunSequence& runs) {
    const FlatGraph& flat = block.flat;
    const auto outside = std::find(runs.begin(), runs.end(), block.outside);
    BlockOption option;
    option.forward.assign(runs.begin(), outside);
    if (outside != runs.end()) option.backward.assign(outside + 1, runs.end());
    const std::vector<std::int64_t> memory = memory_of(flat, runs);
    const std::size_t between = option.forward.size();
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (i == between) continue;
        (i < between ? option.forward_time : option.backward_time) += flat.time[runs[i]];
        std::int64_t& peak = i < between ? option.forward_peak : option.backward_peak;
        peak = std::max(peak, memory[i]);
    }
    if (outside != runs.end())
        option.saved = memory[between] - flat.workspace[block.outside] - bytes_beside(block);
    note_reads(block, option);
    return option;
}

RunSequence whole_sequence(const Subproblem& block, const BlockOption& option) {
    RunSequence runs = option.forward;
    if (block.outside >= 0) runs.push_back(block.outside);
    runs.insert(runs.end(), option.backward.begin(), option.backward.end());
    return runs;
}

std::int64_t bytes_beside(const Subproblem& block) {
    return bytes_of(block.flat, block.passed_on) + bytes_of(block.flat, block.received);
}

FlatGraph without_bytes(FlatGraph flat, const std::vector<std::uint8_t>& marked) {
    for (int t = 0; t < flat.tensor_count; ++t)
        if (marked[t]) flat.bytes[t] = 0;
    for (FlatGraph::Pair& pair : flat.inplace)
        pair.saved = std::min({pair.saved, flat.bytes[pair.in], flat.bytes[pair.out]});
    return flat;
}

void keep_best(std::vector<BlockOption>& options) {
    std::stable_sort(options.begin(), options.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.time(), a.saved, a.backward_peak, a.forward_peak, a.held.size(),
                          a.reread.size()) <
               std::tuple(b.time(), b.saved, b.backward_peak, b.forward_peak, b.held.size(), b.reread.size());
    });
    std::vector<BlockOption> best;
    for (BlockOption& option : options)
        if (std::none_of(best.begin(), best.end(),
                         [&](const auto& other) { return other.dominates(option); }))
            best.push_back(std::move(option));
    options = std::move(best);
}

BlockOption keep_all_option(const Subproblem& block) {
    return measured(block, keep_all_sequence(block.flat));
}

bool runs_for_its_effect(const Subproblem& block, int op) {
    const auto outputs = block.flat.outputs[op];
    return std::all_of(outputs.begin(), outputs.end(),
                       [&](int t) { return block.flat.users[t].empty() && !block.flat.is_result[t]; });
}

BlockOption advance_option(const Subproblem& block) {
    const FlatGraph& flat = block.flat;
    std::vector<std::uint8_t> wanted(flat.tensor_count, 0);
    for (const int t : block.passed_on) wanted[t] = 1;
    RunSequence runs;
    const int end = block.outside < 0 ? flat.op_count : block.outside;
    for (int op = end; op-- > 0;) {
        const auto outputs = flat.outputs[op];
        if (!runs_for_its_effect(block, op) &&
            std::none_of(outputs.begin(), outputs.end(), [&](int t) { return wanted[t]; }))
            continue;
        for (const int t : flat.inputs[op]) wanted[t] = 1;
        runs.push_back(op);
    }
    std::reverse(runs.begin(), runs.end());
    if (block.outside < 0) return measured(block, runs);
    // The peak is measured with `outside` as the last run, because `outside` reads all passed-on tensors.
    RunSequence with_outside = runs;
    with_outside.push_back(block.outside);
    const std::vector<std::int64_t> memory = memory_of(flat, with_outside);
    BlockOption option;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        option.forward_time += flat.time[runs[i]];
        option.forward_peak = std::max(option.forward_peak, memory[i]);
    }
    option.forward = std::move(runs);
    return option;
}

}  // namespace rematlas::hierarchical
