#include "core/schedule/run_sequence.h"

#include <algorithm>
#include <numeric>

namespace rematlas {
namespace {

enum class Next : std::uint8_t { none, use, run };

/// Says which inputs and outputs of each run are kept after the run. A tensor is kept if its next event is a
/// use.
struct KeptAfterRuns {
    std::vector<std::uint8_t> kept;     ///< for each run, its inputs and then its outputs
    std::vector<std::size_t> begin{0};  ///< per run: index of its first entry in `kept`
};

KeptAfterRuns kept_after_runs(const FlatGraph& graph, std::span<const std::int32_t> runs) {
    KeptAfterRuns lives;
    lives.begin.reserve(runs.size() + 1);
    for (std::int32_t op : runs) {
        lives.begin.push_back(lives.begin.back() + graph.inputs[op].size() + graph.outputs[op].size());
    }
    lives.kept.resize(lives.begin.back());
    std::vector<Next> next(graph.tensor_count, Next::none);
    for (std::int32_t t : graph.results) next[t] = Next::use;
    for (std::size_t i = runs.size(); i-- > 0;) {
        std::size_t at = lives.begin[i];
        for (std::int32_t t : graph.inputs[runs[i]]) lives.kept[at++] = next[t] == Next::use;
        for (std::int32_t t : graph.outputs[runs[i]]) lives.kept[at++] = next[t] == Next::use;
        for (std::int32_t t : graph.inputs[runs[i]]) next[t] = Next::use;
        for (std::int32_t t : graph.outputs[runs[i]]) next[t] = Next::run;
    }
    return lives;
}

/// Says whether the op has in-place pairs and none of their inputs is kept after the run.
bool runs_in_place(const FlatGraph& graph, int op, const std::uint8_t* kept_inputs) {
    const auto pairs = graph.inplace_pairs(op);
    const auto inputs = graph.inputs[op];
    return !pairs.empty() && std::all_of(pairs.begin(), pairs.end(), [&](const FlatGraph::Pair& pair) {
        const auto at = std::lower_bound(inputs.begin(), inputs.end(), pair.in) - inputs.begin();
        return !kept_inputs[at];
    });
}

}  // namespace

std::vector<std::int64_t> memory_of(const FlatGraph& graph, std::span<const std::int32_t> runs) {
    const KeptAfterRuns lives = kept_after_runs(graph, runs);
    std::vector<std::int64_t> memory;
    memory.reserve(runs.size());
    std::int64_t alive = graph.resident_bytes;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::int32_t op = runs[i];
        const std::uint8_t* kept = lives.kept.data() + lives.begin[i];
        std::int64_t during = alive + graph.workspace[op];
        for (std::int32_t t : graph.outputs[op]) during += graph.bytes[t];
        if (runs_in_place(graph, op, kept)) during -= graph.saved_in_place(op);
        for (std::int32_t t : graph.inputs[op]) alive -= *kept++ ? 0 : graph.bytes[t];
        for (std::int32_t t : graph.outputs[op]) alive += *kept++ ? graph.bytes[t] : 0;
        memory.push_back(during);
    }
    return memory;
}

SequenceCost cost_of(const FlatGraph& graph, std::span<const std::int32_t> runs) {
    SequenceCost cost;
    cost.peak = graph.resident_bytes;
    const std::vector<std::int64_t> memory = memory_of(graph, runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        cost.time += graph.time[runs[i]];
        if (memory[i] <= cost.peak) continue;
        cost.peak = memory[i];
        cost.peak_run = i;
    }
    return cost;
}

RunSequence once_a_side(const FlatGraph& graph, RunSequence runs) {
    if (graph.boundary < 0) return runs;
    std::vector<std::uint8_t> made(graph.op_count, 0);  // per op: whether it ran, or its output was read, on
                                                        // this side of the boundary
    bool is_behind = false;
    RunSequence kept;
    for (const std::int32_t op : runs) {
        if (std::exchange(made[op], 1) != 0) continue;
        kept.push_back(op);
        if (is_behind)
            for (const std::int32_t t : graph.inputs[op]) made[graph.producer[t]] = 1;
        if (op != graph.boundary) continue;
        std::fill(made.begin(), made.end(), 0);
        made[op] = 1;
        is_behind = true;
    }
    return kept;
}

RunSequence without_useless(const FlatGraph& graph, std::span<const std::int32_t> runs) {
    std::vector<std::uint8_t> read(graph.tensor_count, 0), runs_later(graph.op_count, 0);
    for (std::int32_t t : graph.results) read[t] = 1;
    RunSequence kept;
    for (std::size_t i = runs.size(); i-- > 0;) {
        const std::int32_t op = runs[i];
        const auto outputs = graph.outputs[op];
        const bool serves = std::any_of(outputs.begin(), outputs.end(), [&](int t) { return read[t]; });
        if (!serves && (!graph.required[op] || runs_later[op])) continue;
        runs_later[op] = 1;
        for (std::int32_t t : outputs) read[t] = 0;
        for (std::int32_t t : graph.inputs[op]) read[t] = 1;
        kept.push_back(op);
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
}

bool is_executable(const FlatGraph& graph, std::span<const std::int32_t> runs) {
    std::vector<std::int32_t> count(graph.op_count, 0);
    if (graph.boundary >= 0 && once_a_side(graph, {runs.begin(), runs.end()}).size() < runs.size())
        return false;
    for (std::int32_t op : runs) {
        if (op < 0 || op >= graph.op_count) return false;
        for (std::int32_t t : graph.inputs[op]) {
            if (count[graph.producer[t]] == 0) return false;
        }
        if (++count[op] > 1 && !graph.recomputable[op]) return false;
    }
    for (int op = 0; op < graph.op_count; ++op) {
        if (graph.required[op] && count[op] == 0) return false;
    }
    return true;
}

std::vector<Step> lower(const FlatGraph& graph, std::span<const std::int32_t> runs) {
    const KeptAfterRuns lives = kept_after_runs(graph, runs);
    std::vector<Step> steps;
    steps.reserve(3 * runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::int32_t op = runs[i];
        const std::uint8_t* kept = lives.kept.data() + lives.begin[i];
        const bool in_place = runs_in_place(graph, op, kept);
        steps.push_back(in_place ? Step::run_inplace(OpId(op)) : Step::run(OpId(op)));
        const auto pairs = graph.inplace_pairs(op);
        for (std::int32_t t : graph.inputs[op]) {
            const bool taken = in_place && std::any_of(pairs.begin(), pairs.end(),
                                                       [t](const auto& pair) { return pair.in == t; });
            if (!*kept++ && !taken) steps.push_back(Step::free(TensorId(t)));
        }
        for (std::int32_t t : graph.outputs[op]) {
            if (!*kept++) steps.push_back(Step::free(TensorId(t)));
        }
    }
    return steps;
}

std::optional<RunSequence> runs_of(std::span<const Step> steps) {
    RunSequence runs;
    for (const Step& step : steps) {
        if (!step.runs() && step.kind != StepKind::free) return std::nullopt;
        if (step.runs()) runs.push_back(step.id);
    }
    return runs;
}

RunSequence keep_all_sequence(const FlatGraph& graph) {
    RunSequence runs(graph.op_count);
    std::iota(runs.begin(), runs.end(), 0);
    return runs;
}

RunSequence required_once(const FlatGraph& graph) {
    RunSequence runs;
    for (int op = 0; op < graph.op_count; ++op) {
        if (graph.required[op]) runs.push_back(op);
    }
    return runs;
}

Bytes keep_all_peak(const FlatGraph& graph) {
    return Bytes(cost_of(graph, keep_all_sequence(graph)).peak);
}

}  // namespace rematlas
