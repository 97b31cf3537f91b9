#include "runtime/replay/replay_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "core/solving/copies.h"

namespace rematlas {
namespace {

/// Samplers such as those of the gamma distribution draw until a number is accepted.
constexpr const char* sampled_outside =
    "draw samples that are accepted or rejected (gamma, beta, Poisson) outside of the module";

/// Counts the runs of each op. Fails if a random op comes later than in the captured order, and it is not
/// known how far this op moves the generator.
Result<void> count_runs(const BoundModel& model, ReplayPlan& plan) {
    const Graph& graph = model.graph;
    plan.runs = IdVector<OpId, int>(graph.ops.size(), 0);
    int turn = 0;
    for (const Step& step : plan.steps) {
        if (!step.runs()) continue;
        const bool first = plan.runs[step.op()]++ == 0;
        if (!first || model.ops[step.op()].turn < turn) continue;
        for (; turn < model.ops[step.op()].turn; ++turn) {
            if (model.tape.ops[model.random_ops[turn]].draws) continue;
            return Error{"the schedule runs " + model.label(step.op()) + " before " +
                         model.label(model.random_ops[turn]) +
                         ", whose use of the random number generator cannot be foreseen: " + sampled_outside};
        }
        ++turn;
    }
    return {};
}

void find_reads_and_writes(const BoundModel& model, ReplayPlan& plan) {
    plan.read_end = IdVector<TensorId, std::size_t>(model.graph.tensors.size(), 0);
    plan.overwritten = IdVector<TensorId, std::uint8_t>(model.graph.tensors.size(), 0);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        const Step& step = plan.steps[i];
        if (!step.runs() || step.op() == model.loss) continue;
        for (TensorId read : model.graph.ops[step.op()].inputs) plan.read_end[read] = i + 1;
        if (step.kind == StepKind::run_inplace)
            for (const Overwrite& overwrite : model.tape.ops[step.op()].overwrites)
                plan.overwritten[overwrite.before] = true;
    }
}

/// Moves to the front, where the step takes the least memory, those ops of the forward that update residents,
/// read only residents and make no tensor, such as ops that update counters. A schedule may put such ops
/// anywhere, even after the loss, because no other op depends on them. But the original runs them in its
/// forward.
void move_counters_first(const BoundModel& model, std::vector<Step>& steps) {
    const auto counts = [&](const Step& step) {
        if (!step.runs()) return false;
        const Op& op = model.graph.ops[step.op()];
        return op.phase == Phase::forward && !op.random && !op.mutates.empty() && op.outputs.empty() &&
               std::all_of(op.inputs.begin(), op.inputs.end(),
                           [&](TensorId in) { return model.resident[in]; });
    };
    std::stable_partition(steps.begin(), steps.end(), counts);
}

/// Finds the step of the schedule at which the forward ends. Checks that all outputs exist at this step, and
/// that the random number generator can be put into the state in which the original's forward leaves it.
Result<void> find_loss(const BoundModel& model, ReplayPlan& plan) {
    const Graph& graph = model.graph;
    IdVector<OpId, std::uint8_t> ran(graph.ops.size(), 0);
    IdVector<TensorId, std::uint8_t> there = model.resident;
    for (plan.loss_step = 0; plan.loss_step < plan.steps.size(); ++plan.loss_step) {
        const Step& step = plan.steps[plan.loss_step];
        if (step.kind == StepKind::free || step.kind == StepKind::fetch)
            there[step.tensor()] = step.kind == StepKind::fetch;
        if (!step.runs()) continue;
        if (step.op() == model.loss) break;
        ran[step.op()] = true;
        for (TensorId made : graph.ops[step.op()].outputs) there[made] = true;
        if (model.ops[step.op()].turn >= model.forward_random)
            return Error{"the schedule runs " + model.label(step.op()) +
                         " of the backward, which draws random numbers, before the loss"};
    }
    for (OpId op : graph.ops.ids())
        if (model.tape.ops[op].guard && graph.ops[op].phase == Phase::forward && !ran[op])
            return Error{"the schedule runs " + model.label(op) +
                         ", by which the program decides its course, after the loss"};
    for (int operand : model.tape.outputs)
        if (operand != no_operand && !there[model.tape.operands[operand].tensor])
            return Error{"the schedule makes output " +
                         graph.tensors[model.tape.operands[operand].tensor].name + " after the loss"};
    for (int turn = 0; turn < model.forward_random; ++turn) {
        const OpId op = model.random_ops[turn];
        if (ran[op] || model.tape.ops[op].draws) continue;
        return Error{"the schedule runs " + model.label(op) +
                     " after the loss, and its use of the random number generator cannot be foreseen: " +
                     sampled_outside};
    }
    return {};
}

/// Cuts the backward into parts. A part ends when gradients are final and no later step reads them or
/// their parameters, because the caller may change a parameter as soon as it has the gradient. If there are
/// too many parts, neighbouring ones are merged, so that each part returns about the same number of bytes.
void cut_into_parts(const BoundModel& model, const IdVector<TensorId, std::size_t>& moved_end,
                    std::size_t most, ReplayPlan& plan) {
    const auto& gradients = model.tape.gradients;
    IdVector<TensorId, std::size_t> made_end(model.graph.tensors.size(), 0);
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
        if (plan.steps[i].runs())
            for (TensorId made : model.graph.ops[plan.steps[i].op()].outputs) made_end[made] = i + 1;
    std::map<std::size_t, std::vector<int>> final_at;
    std::unordered_map<std::string, TensorId> parameters;
    for (const Binding& binding : model.tape.bindings)
        if (binding.is_parameter) parameters.emplace(binding.name, binding.operand.tensor);
    std::int64_t all = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (gradients[i].operand == no_operand) continue;
        const TensorId tensor = model.tape.operands[gradients[i].operand].tensor;
        std::size_t end =
            std::max({made_end[tensor], plan.read_end[tensor], moved_end[tensor], plan.loss_step + 1});
        if (const auto found = parameters.find(gradients[i].parameter); found != parameters.end())
            end = std::max(end, plan.read_end[found->second]);
        final_at[end].push_back(int(i));
        all += model.graph.tensors[tensor].bytes.value;
    }
    const std::int64_t share = final_at.size() <= most ? 0 : all / static_cast<std::int64_t>(most);
    std::int64_t bytes = 0;
    BackwardPart part;
    for (const auto& [end, places] : final_at) {
        part.end = end;
        for (int place : places) {
            part.gradients.push_back(place);
            bytes += model.graph.tensors[model.tape.operands[gradients[place].operand].tensor].bytes.value;
        }
        if (bytes < share) continue;
        plan.parts.push_back(std::move(part));
        part = {}, bytes = 0;
    }
    if (!part.gradients.empty() || plan.parts.empty()) plan.parts.push_back(std::move(part));
    plan.parts.back().end = plan.steps.size();
}

void find_handed_out(const BoundModel& model, const IdVector<TensorId, std::size_t>& moved_end,
                     ReplayPlan& plan) {
    const std::set<TensorId> results(model.graph.results.begin(), model.graph.results.end());
    std::set<TensorId> found;
    for (int operand : model.tape.outputs) {
        if (operand == no_operand) continue;
        const TensorId tensor = model.tape.operands[operand].tensor;
        if (!model.resident[tensor] && !results.contains(tensor) &&
            !plan.reads_later(tensor, plan.loss_step + 1) && moved_end[tensor] <= plan.loss_step)
            found.insert(tensor);
    }
    plan.handed_out.assign(found.begin(), found.end());
}

bool is_of_copies(const Step& step) {
    return !step.runs() && step.kind != StepKind::free;
}

/// Returns, for each tensor, one more than the index of the last step that offloads, fetches or drops the
/// tensor, or that frees it after an earlier such step; 0 if no step moves the tensor.
IdVector<TensorId, std::size_t> ends_of_moves(const BoundModel& model, const ReplayPlan& plan) {
    IdVector<TensorId, std::size_t> end(model.graph.tensors.size(), 0);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        const Step& step = plan.steps[i];
        const bool moves = is_of_copies(step) || (step.kind == StepKind::free && end[step.tensor()] > 0);
        if (moves && !step.names_op()) end[step.tensor()] = i + 1;
    }
    return end;
}

/// Returns the moments at which the copies pause: at the loss and after each part. When a pause begins, the
/// tensors that the caller gets at this moment are on the device and are not being copied. At the loss this
/// also holds for the contents that buffers have at the end of the forward.
std::vector<TransferPause> pauses_of(const BoundModel& model, const ReplayPlan& plan) {
    std::vector<TransferPause> pauses{{.before = plan.loss_step}};
    for (const BufferUpdate& update : model.tape.updates)
        pauses.front().of.push_back(update.of_forward.valid() ? update.of_forward : update.contents);
    for (int operand : model.tape.outputs)
        if (operand != no_operand) pauses.front().of.push_back(model.tape.operands[operand].tensor);
    for (const BackwardPart& part : plan.parts) {
        pauses.push_back({.before = part.end});
        for (int place : part.gradients)
            pauses.back().of.push_back(model.tape.operands[model.tape.gradients[place].operand].tensor);
    }
    return pauses;
}

Result<void> plan_transfers(const BoundModel& model, const Homes& homes, bool in_halves, ReplayPlan& plan) {
    if (homes.on_host.empty() && std::none_of(plan.steps.begin(), plan.steps.end(), is_of_copies)) return {};
    if (in_halves)
        if (Result<void> possible = moves_in_training(model.graph, plan.steps, homes); !possible)
            return Error{model.owner + ": the plan cannot run: " + possible.error().message};
    const std::vector<TransferPause> pauses =
        in_halves ? pauses_of(model, plan) : std::vector<TransferPause>{};
    Result<TransferPlan> transfers = TransferPlan::make(model.graph, plan.steps, homes, pauses);
    if (!transfers) return Error{model.owner + ": " + transfers.error().message};
    auto made = std::make_shared<StepTransferPlan>(transfers.take(), homes);
    if (Result<void> movable = check_movable(model, *made); !movable) return movable.error();
    plan.transfers = std::move(made);
    return {};
}

}  // namespace

Result<ReplayPlan> ReplayPlan::make(const BoundModel& model, std::span<const Step> steps,
                                    const Homes& homes) {
    ReplayPlan plan{.steps = {steps.begin(), steps.end()}};
    if (Result<void> counted = count_runs(model, plan); !counted) return counted.error();
    find_reads_and_writes(model, plan);
    if (Result<void> planned = plan_transfers(model, homes, false, plan); !planned) return planned.error();
    return plan;
}

Result<ReplayPlan> ReplayPlan::make_halves(const BoundModel& model, std::span<const Step> steps,
                                           const Homes& homes, std::size_t most_parts) {
    if (!model.loss.valid())
        return Error{model.graph.name +
                     ": the graph has a loss of its own, so its step has no halves; capture it "
                     "with the caller's loss (--loss output)"};
    ReplayPlan plan{.steps = {steps.begin(), steps.end()}};
    move_counters_first(model, plan.steps);
    if (Result<void> counted = count_runs(model, plan); !counted) return counted.error();
    find_reads_and_writes(model, plan);
    if (Result<void> found = find_loss(model, plan); !found) return found.error();
    const IdVector<TensorId, std::size_t> moved_end = ends_of_moves(model, plan);
    cut_into_parts(model, moved_end, most_parts, plan);
    find_handed_out(model, moved_end, plan);
    if (Result<void> planned = plan_transfers(model, homes, true, plan); !planned) return planned.error();
    return plan;
}

}  // namespace rematlas
