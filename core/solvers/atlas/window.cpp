#include "core/solvers/atlas/window.h"

#include <algorithm>

#include "core/solvers/atlas/run_profile.h"

namespace rematlas::atlas {

namespace {

void close_list(Lists& lists) {
    lists.begin.push_back(static_cast<std::int32_t>(lists.items.size()));
}

}  // namespace

Window::Window(const FlatGraph& graph, std::int64_t budget, const RunSequence& runs,
               std::span<const int> ops) {
    find_stages(graph, runs, ops);
    reduce(graph);
    const std::vector<StageBytes> held = held_beside(graph, budget);
    model_ =
        std::make_unique<StagedModel>(reduced_, budget, StagedModelOptions{.below = time_, .held = held});
}

void Window::find_stages(const FlatGraph& graph, const RunSequence& runs, std::span<const int> ops) {
    free_.assign(static_cast<std::size_t>(graph.op_count), 0);
    local_.assign(static_cast<std::size_t>(graph.tensor_count), -1);
    const auto touch = [&](std::span<const std::int32_t> tensors) {
        for (const int t : tensors) {
            if (local_[t] >= 0) continue;
            local_[t] = static_cast<int>(tensors_.size());
            tensors_.push_back(t);
        }
    };
    for (const int op : ops) {
        free_[op] = 1;
        touch(graph.inputs[op]);
        touch(graph.outputs[op]);
    }
    const auto touched = [&](int t) { return local_[t] >= 0; };
    std::vector<std::int32_t> stage_of(static_cast<std::size_t>(graph.op_count), -1);  // of a first run
    for (const std::int32_t op : runs) {
        if (free_[op]) time_ += graph.time[op];
        if (free_[op] && stage_of[op] >= 0) {
            reduced_runs_.push_back(stage_of[op]);
            continue;
        }
        fixed_.push_back(op);
        const auto inputs = graph.inputs[op], outputs = graph.outputs[op];
        if (std::none_of(inputs.begin(), inputs.end(), touched) &&
            std::none_of(outputs.begin(), outputs.end(), touched))
            continue;
        stage_of[op] = static_cast<std::int32_t>(anchors_.size());
        reduced_runs_.push_back(stage_of[op]);
        anchors_.push_back(fixed_.size() - 1);
    }
}

// Runs that stay take no time here, and make and read the tensors of the window only.
void Window::reduce(const FlatGraph& graph) {
    FlatGraph& small = reduced_;
    small.op_count = static_cast<int>(anchors_.size());
    small.tensor_count = static_cast<int>(tensors_.size());
    small.producer.assign(tensors_.size(), -1);
    std::vector<std::vector<std::int32_t>> users(tensors_.size());
    for (const std::int32_t t : tensors_) {
        small.bytes.push_back(graph.bytes[t]);
        small.is_result.push_back(graph.is_result[t]);
        if (graph.is_result[t]) small.results.push_back(local_[t]);
    }
    for (int stage = 0; stage < small.op_count; ++stage) {
        const int op = fixed_[anchors_[stage]];
        small.time.push_back(free_[op] ? graph.time[op] : 0);
        small.base_time += small.time.back();
        small.workspace.push_back(graph.workspace[op]);
        small.required.push_back(1);
        small.recomputable.push_back(free_[op] && graph.recomputable[op]);
        for (const int t : graph.inputs[op]) {
            if (local_[t] < 0) continue;
            small.inputs.items.push_back(local_[t]);
            users[local_[t]].push_back(stage);
        }
        for (const int t : graph.outputs[op]) {
            if (local_[t] < 0) continue;
            small.outputs.items.push_back(local_[t]);
            small.producer[local_[t]] = stage;
        }
        for (const FlatGraph::Pair& pair : graph.inplace_pairs(op))
            if (local_[pair.in] >= 0)
                small.inplace.push_back({local_[pair.out], local_[pair.in], pair.saved});
        close_list(small.inputs), close_list(small.outputs);
        small.inplace_begin.push_back(static_cast<std::int32_t>(small.inplace.size()));
    }
    for (const std::vector<std::int32_t>& of : users) {
        small.users.items.insert(small.users.items.end(), of.begin(), of.end());
        close_list(small.users);
    }
}

// The profile of the runs that stay, in a graph where the window's tensors have no bytes.
std::vector<StageBytes> Window::held_beside(const FlatGraph& graph, std::int64_t budget) const {
    FlatGraph rest = graph;
    for (const std::int32_t t : tensors_) rest.bytes[t] = 0;
    for (FlatGraph::Pair& pair : rest.inplace) {
        if (local_[pair.in] >= 0) pair.saved = 0;  // counted by the programme
    }
    const RunProfile profile(rest, budget, fixed_);
    std::vector<RunProfile::Node> nodes(anchors_.size() + 1, RunProfile::kEnd);
    RunProfile::Node node = RunProfile::kEnd;
    std::size_t index = fixed_.size();
    for (std::size_t stage = anchors_.size(); stage-- > 0;) {
        for (; index > anchors_[stage]; --index) node = profile.previous(node);
        nodes[stage] = node;
    }
    std::vector<StageBytes> held;
    for (std::size_t stage = 0; stage < anchors_.size(); ++stage) {
        const std::int64_t workspace = graph.workspace[fixed_[anchors_[stage]]];
        held.push_back({.before = profile.memory_before(nodes[stage]),
                        .during = profile.memory(nodes[stage]) - workspace,
                        .after = profile.most_between(nodes[stage], nodes[stage + 1])});
    }
    return held;
}

RunSequence Window::decode(std::span<const double> values) const {
    RunSequence runs;
    std::size_t done = 0;  // of fixed_
    std::size_t stage = 0;
    for (const std::int32_t run : model_->decode(values)) {
        while (done < anchors_[stage]) runs.push_back(fixed_[done++]);
        runs.push_back(fixed_[anchors_[run]]);
        if (static_cast<std::size_t>(run) == stage) ++stage, ++done;
    }
    runs.insert(runs.end(), fixed_.begin() + static_cast<std::ptrdiff_t>(done), fixed_.end());
    return runs;
}

}  // namespace rematlas::atlas
