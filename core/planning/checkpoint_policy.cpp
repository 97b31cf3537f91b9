#include "core/planning/checkpoint_policy.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/sizes.h"

namespace rematlas {
namespace {

using nlohmann::json;

const json& recorded(const Graph& graph, std::int32_t op) {
    return graph.replay->at("ops").at(static_cast<std::size_t>(op));
}

/// Returns the name of the op in `torch.ops`, e.g. aten.add.Tensor.
std::string overload_name(const Graph& graph, std::int32_t op) {
    const json& call = recorded(graph, op);
    std::string name = call.at("op");
    if (const std::size_t colons = name.find("::"); colons != std::string::npos) name.replace(colons, 2, ".");
    const std::string overload = call.value("overload", "");
    return name + "." + (overload.empty() ? "default" : overload);
}

/// Returns a text such as f32[8,64] for each tensor among the arguments. Tensors without axes are left out,
/// because they may be numbers to PyTorch.
json shapes(const Graph& graph, std::int32_t op) {
    std::vector<int> operands;
    for (const json& argument : recorded(graph, op).at("arguments")) {
        if (!argument.is_object()) continue;
        if (argument.contains("tensor")) operands.push_back(argument["tensor"]);
        for (const char* list : {"tensors", "optional_tensors"})
            if (argument.contains(list))
                for (const int operand : argument[list]) operands.push_back(operand);
    }
    json texts = json::array();
    for (const int operand : operands) {
        if (operand < 0) continue;
        const json& seen = graph.replay->at("operands").at(static_cast<std::size_t>(operand));
        if (!seen.at(2).empty()) texts.push_back(seen.at(1).get<std::string>() + seen.at(2).dump());
    }
    return texts;
}

std::string overhead_text(double overhead) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", overhead);
    return text;
}

/// Returns the module paths of the regions, with * in place of numbers.
std::string patterns(const SelectivePlan& plan) {
    std::set<std::string> all;
    for (const Region& region : plan.regions) {
        Op named;
        named.module = region.module;
        const std::string selector = selector_of(named);
        all.insert(selector.substr(0, selector.rfind("::")));
    }
    std::string text;
    for (const std::string& pattern : all) text += (text.empty() ? "" : ", ") + pattern;
    return text;
}

}  // namespace

Result<CheckpointPolicy> checkpoint_policy(const Graph& graph, Bytes budget, const Limits& limits,
                                           const SaveClass& of) {
    if (!graph.replay || !graph.replay->contains("ops"))
        return Error{graph.name +
                     ": was not captured from a model, so that nobody knows PyTorch's ops of it; "
                     "capture makes a graph that can be exported"};
    const bool updates = std::any_of(graph.ops.begin(), graph.ops.end(),
                                     [](const Op& op) { return op.phase == Phase::optimizer; });
    if (updates)
        return Error{graph.name +
                     ": ends with an optimizer's updates, which PyTorch does not run in the "
                     "backward; capture it without --optimizer"};
    const FlatGraph flat = flatten(graph);
    SelectiveAnswer answer = selective_plan({graph, flat}, budget, limits, of);
    if (const auto* none = std::get_if<Infeasible>(&answer))
        return Error{graph.name + ": no selective checkpointing keeps " + format_bytes(budget) +
                         "; the least that was found takes " +
                         format_bytes(none->smallest_found.value_or(none->needed)) +
                         (none->reason.empty() ? "" : " (" + none->reason + ")"),
                     ErrorKind::negative};
    return CheckpointPolicy{std::get<SelectivePlan>(std::move(answer)), budget};
}

Bytes budget_of(const Schedule& schedule) {
    return schedule.budget > Bytes(0) ? schedule.budget : schedule.peak;
}

Result<CheckpointPolicy> checkpoint_policy_for(const Graph& graph, const Schedule& schedule,
                                               const Limits& limits, const SaveClass& of) {
    if (!schedule.pins.empty())
        return Error{graph.name +
                     ": the schedule was solved under pins, which selective checkpointing does not keep; "
                     "solve it without them"};
    return checkpoint_policy(graph, budget_of(schedule), limits, of);
}

std::string policy_text(const Graph& graph, const CheckpointPolicy& policy) {
    const Solution& solution = policy.plan.solution;
    std::int64_t residents = 0;
    const IdVector<TensorId, OpId> makers = producers(graph);
    for (const TensorId t : graph.tensors.ids())
        if (!makers[t].valid()) residents += graph.tensors[t].bytes.value;
    json regions = json::array();
    for (std::size_t i = 0; i < policy.plan.regions.size(); ++i) {
        const Region& region = policy.plan.regions[i];
        const std::vector<std::int32_t>& saved = policy.plan.saved[i];
        json ops = json::array();
        for (const std::int32_t op : region.ops)
            ops.push_back({{"op", overload_name(graph, op)},
                           {"tensors", shapes(graph, op)},
                           {"save", std::binary_search(saved.begin(), saved.end(), op)}});
        regions.push_back({{"module", region.module}, {"ops", std::move(ops)}});
    }
    const json file = {{"format", "rematlas.policy"},
                       {"version", 1},
                       {"graph", graph.name},
                       {"graph_sha256", graph.sha256},
                       {"budget_bytes", policy.budget.value},
                       {"peak_bytes", solution.peak.value},
                       {"resident_bytes", residents},
                       {"overhead", solution.overhead},
                       {"regions", std::move(regions)}};
    return file.dump(1) + "\n";
}

std::string torchtitan_text(const Graph& graph, const CheckpointPolicy& policy) {
    const Solution& solution = policy.plan.solution;
    std::set<std::string> selectors;
    for (const std::vector<std::int32_t>& saved : policy.plan.saved) {
        for (const std::int32_t op : saved) {
            const std::string selector = selector_of(graph.ops[OpId(op)]);
            selectors.insert(selector.substr(0, selector.rfind("::")) + "::" + overload_name(graph, op));
        }
    }
    std::string joined;
    for (const std::string& selector : selectors) joined += (joined.empty() ? "" : " | ") + selector;
    const std::string regions = patterns(policy.plan);
    std::string text =
        "# " + graph.name + " in torchtitan, with selective checkpointing by selectors: peak " +
        std::to_string(solution.peak.value) + " bytes of a budget of " + std::to_string(policy.budget.value) +
        ", overhead " + overhead_text(solution.overhead) + "\n";
    if (regions.empty())
        return text + "# The step fits without checkpointing: --compile.memory_policy none\n";
    text += "# Regions that run again: " + regions + "\n";
    return text + "# --compile.memory_policy full --compile.full_recompute_save_ops 'the next line'\n" +
           joined + "\n";
}

}  // namespace rematlas
