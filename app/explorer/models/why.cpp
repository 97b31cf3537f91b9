#include "app/explorer/models/why.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/pins/pinned_ops.h"
#include "core/schedule/run_sequence.h"

namespace rematlas::explorer {
namespace {

/// Inserts reruns into a run sequence. They make the pinned tensors again after the loss. `inputs_too`:
/// whether inputs of these reruns that are not held are also made again.
class MakingAgain {
  public:
    MakingAgain(const FlatGraph& flat, const PinnedOps& pinned, const RunSequence& runs, bool inputs_too)
        : flat_(flat),
          pinned_(pinned),
          inputs_too_(inputs_too),
          fresh_(flat.tensor_count, 0),
          next_(flat.tensor_count, 0),
          events_(flat.tensor_count),
          inserted_at_(flat.op_count, -1) {
        for (std::size_t i = 0; i < runs.size(); ++i) {
            for (const std::int32_t t : flat.inputs[runs[i]])
                events_[t].push_back({static_cast<int>(i), true});
            for (const std::int32_t t : flat.outputs[runs[i]])
                events_[t].push_back({static_cast<int>(i), false});
        }
        for (at_ = 0; at_ < static_cast<int>(runs.size()); ++at_) {
            const std::int32_t op = runs[static_cast<std::size_t>(at_)];
            for (const std::int32_t t : flat.inputs[op])
                if (is_stale(t)) make(flat.producer[t]);
            run(op);
        }
    }

    RunSequence take() { return std::move(made_); }

  private:
    struct Event {
        int at;
        bool use;
    };

    bool is_stale(std::int32_t t) const { return begun_ && pinned_.made_again[TensorId(t)] && !fresh_[t]; }

    /// Says whether the original sequence, which has no inserted reruns, holds the tensor at the current
    /// position.
    bool is_held(std::int32_t t) {
        auto& next = next_[t];
        while (next < events_[t].size() && events_[t][next].at < at_) ++next;
        return next < events_[t].size() && events_[t][next].use;
    }

    void make(std::int32_t op) {
        if (inserted_at_[op] == at_) return;
        inserted_at_[op] = at_;
        for (const std::int32_t t : flat_.inputs[op]) {
            const std::int32_t maker = flat_.producer[t];
            const bool missing = inputs_too_ && flat_.recomputable[maker] && !is_held(t);
            if (is_stale(t) || missing) make(maker);
        }
        run(op);
    }

    void run(std::int32_t op) {
        if (begun_)
            for (const std::int32_t t : flat_.outputs[op]) fresh_[t] = 1;
        if (OpId(op) == pinned_.loss) begun_ = true;
        made_.push_back(op);
    }

    const FlatGraph& flat_;
    const PinnedOps& pinned_;
    const bool inputs_too_;
    std::vector<char> fresh_;
    std::vector<std::size_t> next_;  ///< for each tensor: index into its events
    std::vector<std::vector<Event>> events_;
    std::vector<int> inserted_at_;  ///< for each op: the position before which it was last inserted
    RunSequence made_;
    int at_ = 0;
    bool begun_ = false;
};

RunSequence each_kept_once(const FlatGraph& flat, const PinnedOps& pinned, const RunSequence& runs) {
    std::vector<char> ran(flat.op_count, 0);
    RunSequence once;
    for (const std::int32_t op : runs) {
        if (!ran[op] || !pinned.keep[OpId(op)]) once.push_back(op);
        ran[op] = 1;
    }
    return without_useless(flat, once);
}

RunSequence flipped(const FlatGraph& flat, const PinnedOps& pinned, PinKind kind, const RunSequence& runs,
                    Bytes budget) {
    if (kind == PinKind::keep) return each_kept_once(flat, pinned, runs);
    RunSequence held = MakingAgain(flat, pinned, runs, false).take();
    RunSequence made = MakingAgain(flat, pinned, runs, true).take();
    const SequenceCost of_held = cost_of(flat, held), of_made = cost_of(flat, made);
    const auto worse = [&](const SequenceCost& cost) {
        return std::pair(budget.value > 0 ? std::max<std::int64_t>(0, cost.peak - budget.value) : cost.peak,
                         cost.time);
    };
    return worse(of_made) < worse(of_held) ? made : held;
}

}  // namespace

Result<WhatIf> what_if(const LoadedSchedule& schedule, const Pin& pin) {
    const Graph& graph = schedule.graph->graph;
    const FlatGraph& flat = schedule.graph->flat;
    const Result<PinnedOps> pinned = pinned_ops(graph, {pin});
    if (!pinned) return pinned.error();
    const std::optional<RunSequence> runs = runs_of(schedule.schedule.steps);
    if (!runs || !is_executable(flat, *runs))
        return Error{"the plan copies tensors to the host, or does not run"};
    const RunSequence other = flipped(flat, *pinned, pin.kind, *runs, schedule.schedule.budget);
    WhatIf found{.steps = lower(flat, other), .changes = other != *runs};
    const Result<Simulation> played = simulate(graph, found.steps);
    if (!played) return played.error();
    found.time = played->time;
    found.peak = played->peak;
    found.more_time = found.time - schedule.simulation.time;
    found.more_peak = found.peak - schedule.simulation.peak;
    if (schedule.schedule.budget.value > 0)
        found.over_budget = std::max(Bytes(0), found.peak - schedule.schedule.budget);
    return found;
}

Idle idle_of(const LoadedSchedule& schedule, std::span<const OpId> ops) {
    const Graph& graph = schedule.graph->graph;
    IdVector<TensorId, char> asked(graph.tensors.size(), 0), held(graph.tensors.size(), 0);
    IdVector<TensorId, Nanoseconds> touched(graph.tensors.size());
    for (const OpId op : ops)
        for (const TensorId t : graph.ops[op].outputs) asked[t] = 1;
    Idle idle;
    const auto& traces = schedule.simulation.steps;
    for (std::size_t i = 0; i < traces.size(); ++i) {
        const Step& step = schedule.schedule.steps[i];
        if (step.kind == StepKind::free) held[step.tensor()] = 0;
        if (step.kind == StepKind::fetch) {
            held[step.tensor()] = 1;
            touched[step.tensor()] = traces[i].end;
        }
        if (!step.runs()) continue;
        const Op& op = graph.ops[step.op()];
        for (const TensorId t : op.inputs) {
            if (asked[t]) idle.longest = std::max(idle.longest, traces[i].start - touched[t]);
            touched[t] = traces[i].end;
        }
        if (i == schedule.simulation.peak_step) {
            for (const TensorId t : graph.tensors.ids()) {
                const bool read = std::find(op.inputs.begin(), op.inputs.end(), t) != op.inputs.end();
                const bool made = std::find(op.outputs.begin(), op.outputs.end(), t) != op.outputs.end();
                if (asked[t] && held[t] && !read && !made) idle.at_peak += graph.tensors[t].bytes;
            }
        }
        if (step.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace) held[pair.in] = 0;
        for (const TensorId t : op.outputs) {
            held[t] = 1;
            touched[t] = traces[i].end;
        }
    }
    return idle;
}

Waiting waiting_of(const LoadedSchedule& schedule, std::span<const OpId> ops) {
    IdVector<OpId, char> asked(schedule.graph->graph.ops.size(), 0);
    for (const OpId op : ops) asked[op] = 1;
    Waiting waiting;
    double longest = 0;
    for (const LaneBar& bar : lanes_of(schedule, LaneAxis::time).bars) {
        if (bar.lane != DrawnLane::waiting) continue;
        const Step& step = schedule.schedule.steps[static_cast<std::size_t>(bar.step)];
        if (!step.runs() || !asked[step.op()]) continue;
        waiting.time += Nanoseconds(std::llround(bar.end - bar.begin));
        if (bar.copy < 0 || bar.end - bar.begin <= longest) continue;
        longest = bar.end - bar.begin;
        const Step& copy = schedule.schedule.steps[static_cast<std::size_t>(bar.copy)];
        waiting.tensor = copy.names_op() ? TensorId() : copy.tensor();
    }
    return waiting;
}

}  // namespace rematlas::explorer
