#include "viz/paint/memory_stack.h"

#include <algorithm>

#include "core/schedule/homes.h"

namespace rematlas {

namespace {

/// Plays the steps and counts the bytes of each layer.
class StackPlayer {
  public:
    StackPlayer(const Graph& graph, const ModuleGroups& groups, const Homes& homes)
        : graph_(graph),
          layer_of_(graph.tensors.size(), 0),
          held_(groups.names.size() + 2, 0),
          on_device_(graph.tensors.size(), 0),
          workspace_(groups.names.size() + 1) {
        for (const OpId op : graph.ops.ids())
            for (const TensorId output : graph.ops[op].outputs)
                layer_of_[output] = static_cast<std::size_t>(groups.of[op]) + 1;
        const IdVector<TensorId, char> there = on_device_at_start(graph, homes);
        for (const TensorId tensor : graph.tensors.ids())
            if (there[tensor]) place(tensor);
    }

    /// Plays one step. Returns the bytes of each layer while the step runs.
    std::vector<std::int64_t> play(const Step& step) {
        if (step.runs()) return run(graph_.ops[step.op()], step.kind == StepKind::run_inplace);
        if (step.kind == StepKind::fetch) place(step.tensor());
        std::vector<std::int64_t> during = held_;
        if (step.kind == StepKind::free) drop(step.tensor());
        return during;
    }

  private:
    std::vector<std::int64_t> run(const Op& op, bool in_place) {
        std::vector<std::int64_t> during = held_;
        during[workspace_] += op.workspace.value;
        for (const TensorId output : op.outputs) during[layer_of_[output]] += bytes(output);
        if (in_place)
            for (const InplacePair& pair : op.inplace) {
                during[layer_of_[pair.in]] -= std::min(bytes(pair.in), bytes(pair.out));
                drop(pair.in);
            }
        for (const TensorId output : op.outputs) {
            drop(output);
            place(output);
        }
        return during;
    }

    std::int64_t bytes(TensorId tensor) const { return graph_.tensors[tensor].bytes.value; }
    void place(TensorId tensor) {
        on_device_[tensor] = 1;
        held_[layer_of_[tensor]] += bytes(tensor);
    }
    void drop(TensorId tensor) {
        if (!on_device_[tensor]) return;
        on_device_[tensor] = 0;
        held_[layer_of_[tensor]] -= bytes(tensor);
    }

    const Graph& graph_;
    IdVector<TensorId, std::size_t> layer_of_;  ///< for each tensor: index of its layer; 0 for tensors that
                                                ///< no op makes
    std::vector<std::int64_t> held_;
    IdVector<TensorId, char> on_device_;
    std::size_t workspace_;
};

}  // namespace

int layer_at(const MemoryStack& stack, int step, Bytes height) {
    std::int64_t top = 0;
    for (std::size_t i = 0; i < stack.size(); ++i) {
        top += stack[i].during[static_cast<std::size_t>(step)];
        if (height.value < top) return static_cast<int>(i);
    }
    return -1;
}

MemoryStack memory_stack(const Graph& graph, const std::vector<Step>& steps, const ModuleGroups& groups,
                         const Homes& homes) {
    MemoryStack stack(groups.names.size() + 2);
    stack.front() = {MemoryLayer::Kind::resident, "resident", {}};
    stack.back() = {MemoryLayer::Kind::workspace, "workspace", {}};
    for (std::size_t i = 0; i < groups.names.size(); ++i) stack[i + 1].name = groups.names[i];
    for (MemoryLayer& layer : stack) layer.during.reserve(steps.size());
    StackPlayer player(graph, groups, homes);
    for (const Step& step : steps) {
        const std::vector<std::int64_t> during = player.play(step);
        for (std::size_t i = 0; i < stack.size(); ++i) stack[i].during.push_back(during[i]);
    }
    std::erase_if(stack, [](const MemoryLayer& layer) {
        return std::all_of(layer.during.begin(), layer.during.end(), [](std::int64_t b) { return b == 0; });
    });
    return stack;
}

}  // namespace rematlas
