#include "core/solvers/offmate/lifetimes.h"

#include <algorithm>

namespace rematlas::offmate {

Lifetimes::Lifetimes(const Graph& graph, const FlatGraph& flat, std::vector<PlacedRun> runs,
                     const MayLeave& may_leave)
    : graph_(graph),
      flat_(flat),
      runs_(std::move(runs)),
      open_(flat.tensor_count),
      first_gap_(flat.tensor_count, -1),
      last_gap_(flat.tensor_count, -1),
      last_on_host_(flat.tensor_count, -1),
      changed_(flat.tensor_count, 0) {
    for (int t = 0; t < flat.tensor_count; ++t) open_[t].there = is_resident(t);
    std::vector<char> has_run(flat.op_count, 0);
    for (int run = 0; run < run_count(); ++run) {
        if (runs_[run].on_host)
            add_host_run(run);
        else
            add_device_run(run, has_run);
        begin_.push_back(static_cast<std::int32_t>(touches_.size()));
    }
    add_end();
    for (int run = 0; run < run_count(); ++run) {
        const auto pairs = flat.inplace_pairs(runs_[run].op);
        bool in_place = !runs_[run].on_host && !pairs.empty();
        for (const Touch& touch : touches(run)) {
            if (touch.kind != Touch::Kind::read || touch.next < 0) continue;
            for (const FlatGraph::Pair& pair : pairs) in_place = in_place && pair.in != touch.tensor;
        }
        in_place_.push_back(in_place);
    }
    mark(may_leave);
}

void Lifetimes::add_device_run(int run, std::vector<char>& has_run) {
    const Op& op = graph_.ops[OpId(runs_[run].op)];
    const bool first = !has_run[runs_[run].op]++;
    const auto changes = [&](TensorId t) {
        return first && std::find(op.mutates.begin(), op.mutates.end(), t) != op.mutates.end();
    };
    const auto touch = [&](TensorId t, Touch::Kind kind) {
        if (kind != Touch::Kind::make) close(t.value, run);
        open_[t.index()] = {.run = run, .touch = static_cast<std::int32_t>(touches_.size()), .there = true};
        touches_.push_back({t.value, kind, -1});
    };
    for (TensorId t : op.inputs)
        if (!changes(t)) touch(t, Touch::Kind::read);
    for (TensorId t : op.mutates) {
        if (!changes(t)) continue;
        changed_[t.index()] = 1;
        touch(t, Touch::Kind::change);
    }
    for (TensorId t : op.outputs) touch(t, Touch::Kind::make);
}

void Lifetimes::add_host_run(int run) {
    const Op& op = graph_.ops[OpId(runs_[run].op)];
    for (const auto* list : {&op.inputs, &op.mutates})
        for (TensorId t : *list) last_on_host_[t.index()] = run;
    for (TensorId t : op.mutates) {
        changed_[t.index()] = 1;
        open_[t.index()].on_host = true;
    }
    for (TensorId t : op.outputs) open_[t.index()] = {.run = run, .there = true, .on_host = true};
}

/// Adds the gap from the last event of the tensor to a run that needs it, and returns the index of the gap.
std::int32_t Lifetimes::close(int tensor, int run) {
    const Open& open = open_[tensor];
    const auto number = static_cast<std::int32_t>(gaps.size());
    gaps.push_back({.tensor = tensor, .begin = open.run, .end = run, .forced = open.on_host});
    if (open.touch >= 0) touches_[open.touch].next = number;
    if (open.run == kStart) first_gap_[tensor] = number;
    return number;
}

void Lifetimes::add_end() {
    for (int t = 0; t < flat_.tensor_count; ++t) {
        if (!is_resident(t) && !(flat_.is_result[t] && open_[t].there)) continue;
        last_gap_[t] = close(t, run_count());
        gaps[last_gap_[t]].to_end = true;
    }
}

void Lifetimes::mark(const MayLeave& may_leave) {
    for (Gap& gap : gaps) {
        const bool allowed = may_leave.tensors[TensorId(gap.tensor)] && flat_.bytes[gap.tensor] > 0;
        const bool at_an_end = is_resident(gap.tensor) && (gap.to_end || gap.begin == kStart);
        gap.stays_away =
            gap.to_end && (is_resident(gap.tensor) ? may_leave.at_the_end
                                                   : may_leave.ends_there[TensorId(gap.tensor)] != 0);
        gap.movable =
            allowed && (at_an_end ? may_leave.at_the_end : gap.end - gap.begin > 1 || gap.stays_away);
    }
    for (int t = 0; t < flat_.tensor_count; ++t) {
        if (!is_resident(t)) continue;
        const bool forced = gaps[first_gap_[t]].forced || gaps[last_gap_[t]].forced;
        gaps[first_gap_[t]].forced = gaps[last_gap_[t]].forced = forced;
    }
}

std::int64_t Lifetimes::made_bytes(int run) const {
    if (runs_[run].on_host) return 0;
    std::int64_t bytes = flat_.workspace[runs_[run].op];
    for (const int t : flat_.outputs[runs_[run].op]) bytes += flat_.bytes[t];
    if (in_place_[run]) bytes -= flat_.saved_in_place(runs_[run].op);
    return bytes;
}

std::vector<char> Lifetimes::least_away() const {
    std::vector<char> away;
    for (const Gap& gap : gaps) away.push_back(gap.forced);
    return away;
}

std::vector<std::int64_t> Lifetimes::memory(const std::vector<char>& away) const {
    const auto end = static_cast<std::size_t>(run_count() + 1);  // places: the start, the runs, the end
    std::vector<std::int64_t> bytes(end + 2, 0);                 // first the differences between places,
                                                                 // then their sums
    const auto add = [&](std::size_t from, std::size_t behind, std::int64_t more) {
        bytes[from] += more;
        bytes[behind] -= more;
    };
    for (std::size_t g = 0; g < gaps.size(); ++g) {
        const Gap& gap = gaps[g];
        const std::int64_t own = flat_.bytes[gap.tensor];
        const auto first = gap.begin == kStart ? 0 : static_cast<std::size_t>(gap.begin + 2);
        const auto last = static_cast<std::size_t>(gap.end + 1);
        if (!away[g] && first < last) add(first, last, own);
        if (gap.to_end && !(away[g] && gap.stays_away)) add(end, end + 1, own);
    }
    for (int run = 0; run < run_count(); ++run) {
        const auto at = static_cast<std::size_t>(run + 1);
        for (const Touch& touch : touches(run))
            if (touch.kind != Touch::Kind::make) add(at, at + 1, flat_.bytes[touch.tensor]);
        add(at, at + 1, made_bytes(run));
    }
    for (std::size_t i = 1; i < bytes.size(); ++i) bytes[i] += bytes[i - 1];
    bytes.resize(end + 1);
    return bytes;
}

}  // namespace rematlas::offmate
