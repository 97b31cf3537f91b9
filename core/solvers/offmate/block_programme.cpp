#include "core/solvers/offmate/block_programme.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace rematlas::offmate {
namespace {

using hierarchical::BlockOption;
using hierarchical::Level;

/// Returns the indices, in ascending order, of the fastest option and of others; at most `most` in all. Their
/// saved bytes are as far apart as possible.
std::vector<std::int32_t> spread(const std::vector<BlockOption>& options, std::size_t most) {
    std::vector<std::int32_t> chosen{0};
    while (chosen.size() < std::min(most, options.size())) {
        std::int64_t furthest = -1;
        std::int32_t next = -1;
        for (std::size_t k = 1; k < options.size(); ++k) {
            std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
            for (const std::int32_t other : chosen)
                nearest = std::min(nearest, std::abs(options[k].saved - options[other].saved) +
                                                (static_cast<std::size_t>(other) == k ? -1 : 0));
            if (nearest <= furthest) continue;
            furthest = nearest;
            next = static_cast<std::int32_t>(k);
        }
        if (next < 0) break;
        chosen.push_back(next);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

}  // namespace

BlockProgramme::BlockProgramme(const Graph& graph, const FlatGraph& flat, const Level& level,
                               const std::vector<const Subproblem*>& blocks,
                               const std::vector<PlacedRun>& runs, const BlockLimits& limits)
    : graph_(graph), flat_(flat), level_(level), limits_(limits), needs_(static_cast<std::size_t>(stages())) {
    byte_scale_ = 1000.0 / static_cast<double>(std::max<std::int64_t>(limits.budget, 1));
    time_scale_ = 1000.0 / static_cast<double>(std::max<std::int64_t>(flat.base_time, 1));
    for (CopyFlows::Stage& stage : needs_)
        stage.bytes.constant = static_cast<double>(flat.resident_bytes + level.always_bytes()) * byte_scale_;
    place_ops(blocks, runs);
    add_options();
    for (int t = 0; t < level.tensor_count(); ++t)
        if (level.maker(t) >= 0) add_passed_on(t);
    add_made_backward();
    if (limits.residents) add_residents();
    CopyFlows flows(milp_, stages(), rates_of(limits.links, 0, 0, byte_scale_, time_scale_));
    for (const CopyFlows::Item& item : flows_) flows.add(item);
    flows.finish(needs_, 1000, limits.price);
    if (limits.host_budget)
        add_row(milp_, -kInfinite, on_host_, static_cast<double>(*limits.host_budget) * byte_scale_);
}

/// Finds the stage of each op. Ops of the optimizer belong to the stage of the op that they follow.
void BlockProgramme::place_ops(const std::vector<const Subproblem*>& blocks,
                               const std::vector<PlacedRun>& runs) {
    stage_of_.assign(static_cast<std::size_t>(flat_.op_count), -1);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const Subproblem& block = *blocks[b];
        for (std::size_t op = 0; op < block.op_of.size(); ++op) {
            if (block.op_of[op] < 0) continue;
            const bool forward = block.outside < 0 || static_cast<int>(op) < block.outside;
            stage_of_[block.op_of[op]] =
                forward ? forward_stage(static_cast<int>(b)) : backward_stage(static_cast<int>(b));
        }
    }
    int stage = 0;
    for (const PlacedRun& run : runs) {
        if (stage_of_[run.op] >= 0) {
            stage = std::max(stage, stage_of_[run.op]);
            continue;
        }
        stage_of_[run.op] = stage;
        const double time = run.on_host ? 0 : static_cast<double>(flat_.time[run.op]);
        needs_[static_cast<std::size_t>(stage)].time.constant += time * time_scale_;
    }
}

/// Adds a column for the number of bytes that are away, which is at most the sum `most`. Returns the column.
int BlockProgramme::away_at_most(const MilpSum& most) {
    const int column = milp_.add_column({});
    MilpSum row;
    row.add(column);
    row.add(most, -1);
    add_row(milp_, -kInfinite, row, 0);
    on_host_.add(column);
    return column;
}

void BlockProgramme::add_options() {
    const auto most = static_cast<std::size_t>(std::max(2, limits_.most_options / std::max(1, blocks())));
    for (int b = 0; b < blocks(); ++b) {
        offered_.push_back(spread(level_.options(b), most));
        std::vector<int>& columns = option_.emplace_back();
        MilpSum one, saved;
        CopyFlows::Stage& forward = needs_[static_cast<std::size_t>(forward_stage(b))];
        CopyFlows::Stage& backward = needs_[static_cast<std::size_t>(backward_stage(b))];
        for (const std::int32_t k : offered_[b]) {
            const BlockOption& option = level_.options(b)[k];
            const int x = milp_.add_column({.lower = 0, .upper = 1, .cost = 0, .integer = true});
            columns.push_back(x);
            one.add(x);
            saved.add(x, static_cast<double>(option.saved) * byte_scale_);
            forward.time.add(x, static_cast<double>(option.forward_time) * time_scale_);
            forward.bytes.add(x, static_cast<double>(option.forward_peak) * byte_scale_);
            backward.time.add(x, static_cast<double>(option.backward_time) * time_scale_);
            backward.bytes.add(x, static_cast<double>(level_.backward_bytes(b, k)) * byte_scale_);
        }
        add_row(milp_, 1, one, 1);
        for (int stage = forward_stage(b) + 1; stage <= backward_stage(b); ++stage)
            needs_[static_cast<std::size_t>(stage)].bytes.add(saved);
        if (!limits_.activations) continue;
        MilpSum away;
        away.add(away_at_most(saved));
        flows_.push_back({away, forward_stage(b), backward_stage(b), true, true});
    }
}

void BlockProgramme::add_passed_on(int t) {
    const double bytes = static_cast<double>(level_.bytes(t)) * byte_scale_;
    const auto reads = [&](const Level::Interface& interface) {
        return std::find(interface.reads.begin(), interface.reads.end(), t) != interface.reads.end();
    };
    int last_forward = forward_stage(level_.maker(t));
    for (int b = level_.maker(t) + 1; b < blocks(); ++b)
        if (reads(level_.forward(b))) last_forward = forward_stage(b);
    // The backward readers in the order of their stages, each with a sum that is 1 if it reads the tensor.
    std::vector<std::pair<int, MilpSum>> readers;
    for (int b = blocks(); b-- > 0;) {
        MilpSum need;
        for (std::size_t k = 0; k < offered_[b].size(); ++k)
            if (reads(level_.backward(b, offered_[b][k]))) need.add(option_[b][k]);
        if (!need.columns.empty()) readers.emplace_back(backward_stage(b), std::move(need));
    }
    const auto& results = level_.results();
    if (std::find(results.begin(), results.end(), t) != results.end()) {
        MilpSum always;
        always.constant = 1;
        readers.emplace_back(stages() - 1, always);
    }
    const auto add_bytes = [&](int from, int to, const MilpSum& needed) {
        for (int stage = from; stage <= to; ++stage)
            needs_[static_cast<std::size_t>(stage)].bytes.add(needed, bytes);
    };
    MilpSum always;
    always.constant = 1;
    add_bytes(forward_stage(level_.maker(t)) + 1, last_forward, always);
    int needed = -1;  // column that is 1 if a later reader needs the tensor; -1 if there is no later reader
    for (std::size_t r = readers.size(); r-- > 0;) {
        const int column = milp_.add_column({.lower = 0, .upper = 1});
        MilpSum own;
        own.add(readers[r].second);
        own.add(column, -1);
        add_row(milp_, -kInfinite, own, 0);
        if (needed >= 0) {
            MilpSum behind;
            behind.add(needed);
            behind.add(column, -1);
            add_row(milp_, -kInfinite, behind, 0);
        }
        needed = column;
        const int from = r == 0 ? last_forward : readers[r - 1].first;
        MilpSum there;
        there.add(column);
        add_bytes(from + 1, readers[r].first, there);
    }
    if (needed < 0 || !limits_.activations || readers.front().first - last_forward < 2) return;
    MilpSum most, away;
    most.add(needed, bytes);
    away.add(away_at_most(most));
    flows_.push_back({away, last_forward, readers.front().first, true, true});
}

/// Adds the bytes of the tensors that backward runs of blocks make. Each tensor exists from the run that
/// makes it to its last reader.
void BlockProgramme::add_made_backward() {
    std::vector<int> made(static_cast<std::size_t>(level_.tensor_count()), -1), read(made);
    for (int b = 0; b < blocks(); ++b) {
        for (std::size_t k = 0; k < level_.options(b).size(); ++k) {
            const Level::Interface& interface = level_.backward(b, static_cast<int>(k));
            for (const int t : interface.makes) made[t] = backward_stage(b);
            for (const int t : interface.reads) read[t] = std::max(read[t], backward_stage(b));
        }
    }
    std::vector<char> is_result(made.size(), 0);
    for (const int t : level_.results()) is_result[t] = 1;
    for (int t = 0; t < level_.tensor_count(); ++t) {
        if (level_.maker(t) >= 0 || made[t] < 0) continue;
        const double bytes = static_cast<double>(level_.bytes(t)) * byte_scale_;
        const int last = is_result[t] ? stages() - 1 : read[t];
        for (int stage = made[t] + 1; stage <= last; ++stage)
            needs_[static_cast<std::size_t>(stage)].bytes.constant += bytes;
        if (!is_result[t]) continue;
        const int from = std::max(made[t], read[t]);
        if (!limits_.residents && (!limits_.activations || last - from < 2)) continue;
        MilpSum most, away;
        most.constant = bytes;
        away.add(away_at_most(most));
        flows_.push_back({away, from, limits_.residents ? stages() : last, true, !limits_.residents});
    }
}

void BlockProgramme::add_residents() {
    std::map<std::pair<std::vector<int>, bool>, double> alike;
    std::vector<std::set<int>> touched(static_cast<std::size_t>(flat_.tensor_count));
    std::vector<char> changed(touched.size(), 0);
    for (OpId op : graph_.ops.ids()) {
        if (stage_of_[op.index()] < 0) continue;
        for (const auto* list : {&graph_.ops[op].inputs, &graph_.ops[op].mutates})
            for (TensorId t : *list) touched[t.index()].insert(stage_of_[op.index()]);
        for (TensorId t : graph_.ops[op].mutates) changed[t.index()] = 1;
    }
    for (int t = 0; t < flat_.tensor_count; ++t) {
        if (flat_.producer[t] >= 0 || flat_.bytes[t] < std::max<std::int64_t>(limits_.least_copy, 1))
            continue;
        alike[{std::vector<int>(touched[t].begin(), touched[t].end()), changed[t] != 0}] +=
            static_cast<double>(flat_.bytes[t]) * byte_scale_;
    }
    for (const auto& [key, bytes] : alike) add_group({key.first, key.second}, bytes);
}

void BlockProgramme::add_group(const Resident& group, double bytes) {
    const int home = milp_.add_column({.lower = 0, .upper = 1});
    MilpSum lives_there;
    lives_there.add(home, bytes);
    on_host_.add(lives_there);
    if (group.stages.empty()) {
        flows_.push_back({lives_there, -1, stages(), false, false});
        return;
    }
    flows_.push_back({lives_there, -1, std::max(group.stages.front(), 1), false, true});
    flows_.push_back({lives_there, group.stages.back(), stages(), group.changed, false});
    for (std::size_t i = 1; i < group.stages.size(); ++i) {
        if (group.stages[i] - group.stages[i - 1] < 2) continue;
        const int between = milp_.add_column({.lower = 0, .upper = 1});
        MilpSum away, row;
        away.add(between, bytes);
        flows_.push_back({away, group.stages[i - 1], group.stages[i], false, true});
        if (!group.changed) continue;  // an unchanged resident always has a copy on the host
        row.add(between);
        row.add(home, -1);
        add_row(milp_, -kInfinite, row, 0);
    }
}

hierarchical::LevelSchedule BlockProgramme::decode(std::span<const double> values) const {
    std::vector<std::int32_t> option;
    for (int b = 0; b < blocks(); ++b) {
        std::size_t best = 0;
        for (std::size_t k = 1; k < option_[b].size(); ++k)
            if (values[static_cast<std::size_t>(option_[b][k])] >
                values[static_cast<std::size_t>(option_[b][best])])
                best = k;
        option.push_back(offered_[b][best]);
    }
    return level_.once(std::move(option));
}

}  // namespace rematlas::offmate
