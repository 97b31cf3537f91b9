#include "runtime/training/planner.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/addresses/address_plan.h"
#include "core/addresses/caching_allocator.h"
#include "core/base/files.h"
#include "core/base/median.h"
#include "core/bounds/least_memory.h"
#include "core/schedule/homes.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/simulate.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/capture/op_costs.h"
#include "runtime/capture/profile_ops.h"
#include "runtime/capture/record_step.h"
#include "runtime/device/measured_time.h"
#include "runtime/replay/op_signature.h"
#include "runtime/training/process_groups.h"
#include "runtime/training/within_eviction.h"

namespace rematlas {
namespace {

/// Lets ops that do the same work share the samples of both recordings. Each of these ops gets the median
/// time and the largest workspace.
void settle_costs(CapturedStep& step, const CapturedStep& other) {
    struct Samples {
        std::vector<OpId> ops;
        std::vector<std::int64_t> times;
        Bytes workspace;
    };
    std::unordered_map<std::string, Samples> samples;
    for (OpId op : step.graph.ops.ids()) {
        if (step.tape.ops[op].name == output_gradients_op) continue;
        Samples& same = samples[signature_of(step.tape, op)];
        same.ops.push_back(op);
        for (const Graph* graph : {static_cast<const Graph*>(&step.graph), &other.graph}) {
            const Op& sample = graph->ops[op];
            same.times.push_back(std::max<std::int64_t>(1, sample.time.value));
            same.workspace = std::max(same.workspace, sample.workspace);
        }
    }
    for (auto& [signature, same] : samples) {
        const Nanoseconds time = counted_time(signature, Nanoseconds(upper_median(same.times)));
        for (OpId op : same.ops)
            step.graph.ops[op].time = time, step.graph.ops[op].workspace = same.workspace;
    }
}

/// Returns how many bytes a loss takes for each byte of the gradient: 2 if the loss converts the output to
/// float, else 1.
std::int64_t loss_factor(const CapturedStep& step, TensorId gradient) {
    for (const Operand& operand : step.tape.operands)
        if (operand.tensor == gradient && c10::isReducedFloatingType(operand.dtype)) return 2;
    return 1;
}

/// Adds the memory that the caller's loss takes between forward and backward. This memory becomes the
/// workspace of the op that stands for the loss.
void add_loss(CapturedStep& step, const LossMemory& loss) {
    for (OpId id : step.graph.ops.ids()) {
        if (step.tape.ops[id].name != output_gradients_op) continue;
        Op& op = step.graph.ops[id];
        std::int64_t made = 0;
        for (TensorId out : op.outputs) made += step.graph.tensors[out].bytes.value;
        op.workspace = Bytes(std::max<std::int64_t>(0, loss.most - made));
        op.time = Nanoseconds(1);
    }
}

std::chrono::nanoseconds time_for(const Graph& graph, std::chrono::nanoseconds asked) {
    if (asked.count() > 0) return asked;
    return std::chrono::seconds(
        std::clamp<std::int64_t>(static_cast<std::int64_t>(graph.ops.size()) / 100, 2, 30));
}

/// Returns the bytes that the other open frames hold while one frame runs: inputs, the tensors that each
/// forward keeps, and the tensors that the caller's loss of each frame keeps.
Bytes held_by_others(const Problem& problem, const std::vector<Step>& steps, int frames, Bytes kept_by_loss) {
    Bytes held = held_at_loss(problem.graph, steps) - Bytes(problem.flat.resident_bytes) + kept_by_loss;
    for (const Tensor& tensor : problem.graph.tensors)
        if (tensor.kind == TensorKind::input) held = held + tensor.bytes;
    return Bytes((frames - 1) * held.value);
}

std::variant<Schedule, Infeasible, Error> answer_to(const Problem& problem, const SolveRequest& request) {
    Result<Outcome> outcome = solve(problem, request);
    if (!outcome) return outcome.error();
    return std::visit([](auto&& found) -> std::variant<Schedule, Infeasible, Error> { return found; },
                      std::move(outcome->answer));
}

/// Returns the peak of a step that runs in an arena: the sum of the residents, the arena for the tensors that
/// the step makes, and the memory of the caller's loss, which is outside of the arena. The arena includes the
/// gaps that remain between tensors.
std::optional<Bytes> peak_in_arena(Graph graph, const Schedule& schedule) {
    Bytes loss;
    for (Op& op : graph.ops)
        if (op.name == output_gradients_op) loss += std::exchange(op.workspace, Bytes());
    const Result<AddressPlan> plan = plan_addresses(graph, schedule.steps,
                                                    {.alignment = alignment_for(graph),
                                                     .homes = schedule.homes,
                                                     .links = schedule.links,
                                                     .residents = false});
    if (!plan) return std::nullopt;
    return residents_on_device(graph, schedule.homes) + plan->arena + loss;
}

/// Returns the bytes that the device's allocator counts at the peak. Without an arena, libtorch's allocator
/// hands out blocks that are larger than requested.
Bytes counted_peak(const Graph& graph, const Schedule& schedule, bool in_arena) {
    if (!graph.device || !graph.device->allocator) return schedule.peak;
    if (in_arena) return std::max(schedule.peak, peak_in_arena(graph, schedule).value_or(Bytes()));
    const Result<CachingAllocatorPeaks> peaks = caching_allocator_peaks(
        graph, schedule.steps, *graph.device->allocator, schedule.homes, schedule.links);
    return peaks ? peaks->allocated : schedule.peak;
}

/// Finds a schedule whose peak, as the allocator counts it, keeps the budget. While the allocator would count
/// more than the budget, the solver is asked for a smaller peak. If the solver finds no schedule, the next
/// round asks for a larger peak again. If no round succeeds, returns the schedule that was found for the
/// smallest peak.
std::variant<Schedule, Infeasible, Error> answer_as_counted(const Problem& problem, SolveRequest request,
                                                            bool in_arena) {
    constexpr int rounds = 4;
    const Bytes budget = request.budget.bytes;
    auto answer = answer_to(problem, request);
    Bytes with_answer = budget, without;
    for (int round = 0; round < rounds; ++round) {
        const Schedule* schedule = std::get_if<Schedule>(&answer);
        if (!schedule) break;
        const Bytes too_much = counted_peak(problem.graph, *schedule, in_arena) - budget;
        if (too_much <= Bytes(0)) break;
        request.budget =
            std::max(with_answer - too_much, Bytes(std::midpoint(without.value, with_answer.value)));
        auto smaller = answer_to(problem, request);
        const bool found = std::holds_alternative<Schedule>(smaller);
        (found ? with_answer : without) = request.budget.bytes;
        if (found) answer = std::move(smaller);
    }
    return answer;
}

/// Finds a schedule for several open frames: the last frame runs while the other frames hold tensors. The
/// bytes that the other frames hold depend on the schedule: with a smaller peak they also hold less. Bisects
/// for the largest peak that fits beside the other frames. If no schedule fits with the gaps of the arena,
/// returns the last one found that fits without these gaps.
std::variant<Schedule, Infeasible, Error> answer_for_frames(const Problem& problem, SolveRequest request,
                                                            int frames, Bytes kept_by_loss, bool in_arena) {
    constexpr int rounds = 6;
    const Bytes budget = request.budget.bytes;
    const std::stop_token stop = request.limits.stop;
    request.limits.time /= 3;
    std::optional<Schedule> best, with_gaps;
    std::optional<Bytes> smallest;
    const Bytes least = least_memory(problem.flat, {.time = request.limits.time / 4, .stop = stop}).bytes;
    Bytes low = least, high = budget;
    for (int round = 0; round < rounds && low < high && !stop.stop_requested(); ++round) {
        const Bytes own((low.value + high.value) / 2);
        request.budget = own;
        auto found = answer_to(problem, request);
        if (std::holds_alternative<Error>(found)) return found;
        Schedule* schedule = std::get_if<Schedule>(&found);
        if (!schedule) {
            low = own + Bytes(1);
            continue;
        }
        const Bytes others = held_by_others(problem, schedule->steps, frames, kept_by_loss);
        const Bytes whole = counted_peak(problem.graph, *schedule, in_arena) + others;
        smallest = std::min(smallest.value_or(whole), whole);
        if (whole <= budget) {
            best = std::move(*schedule);
            low = own + Bytes(1);
        } else {
            high = own;
            if (in_arena && schedule->peak + others <= budget) with_gaps = std::move(*schedule);
        }
    }
    if (best) return *std::move(best);
    if (with_gaps) return *std::move(with_gaps);
    return Infeasible{.needed = least,
                      .proven = least > budget,
                      .smallest_found = smallest,
                      .reason = "with " + std::to_string(frames) + " forwards open at a time"};
}

using FoundWithin = std::function<std::variant<Schedule, Infeasible, Error>(Bytes budget)>;

/// Bisects, in a few rounds, for the smallest budget between `too_small` and `large` that has a schedule.
/// Returns nothing if even `large` has no schedule.
std::optional<Bytes> smallest_enough(const FoundWithin& found_within, Bytes too_small, Bytes large,
                                     const std::stop_token& stop) {
    constexpr int rounds = 4;
    std::optional<Bytes> enough;
    for (int round = 0; round < rounds && !stop.stop_requested(); ++round) {
        const Bytes tried = round == 0 ? large : Bytes(std::midpoint(too_small.value, enough->value));
        const bool found = std::holds_alternative<Schedule>(found_within(tried));
        if (!found && !enough) return std::nullopt;
        if (found)
            enough = tried;
        else
            too_small = tried;
    }
    return enough;
}

/// Returns the graph without the times of ops on the host, because in training all ops run on the device.
std::shared_ptr<const Graph> without_host_ops(std::shared_ptr<const Graph> graph) {
    const auto runs_there = [](const Op& op) { return op.host_time.has_value(); };
    if (std::none_of(graph->ops.begin(), graph->ops.end(), runs_there)) return graph;
    Graph on_device = *graph;
    for (Op& op : on_device.ops) op.host_time.reset();
    return std::make_shared<const Graph>(std::move(on_device));
}

/// Solves for a budget in bytes, which must be for the step alone (see Planner::step_budget).
PlanAnswer solve_for(const Graph& graph, SolveRequest request, int frames, Bytes kept_by_loss, bool in_arena,
                     Bytes whole_peak) {
    const FlatGraph flat = flatten(graph);
    const Problem problem{graph, flat};
    request.limits.time = time_for(graph, request.limits.time);
    request.limits.cache = cache_folder();
    const Bytes budget = request.budget.bytes;
    const FoundWithin found_within = [&](Bytes bytes) {
        request.budget = bytes;
        return frames > 1 ? answer_for_frames(problem, request, frames, kept_by_loss, in_arena)
                          : answer_as_counted(problem, request, in_arena);
    };
    PlanAnswer answer{.found = found_within(budget), .budget = {}, .beside = {}, .others = {}};
    if (auto* none = std::get_if<Infeasible>(&answer.found); none && !none->smallest_found) {
        request.limits.time /= 4;
        none->smallest_found =
            smallest_enough(found_within, std::max(budget, none->needed), whole_peak, request.limits.stop);
    }
    if (const Schedule* schedule = std::get_if<Schedule>(&answer.found))
        answer.others = held_by_others(problem, schedule->steps, frames, kept_by_loss);
    return answer;
}

}  // namespace

Bytes held_at_loss(const Graph& graph, const std::vector<Step>& steps) {
    const Result<Simulation> simulated = simulate(graph, steps);
    if (!simulated) return {};
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i].runs() || graph.ops[steps[i].op()].name != output_gradients_op) continue;
        return i > 0 ? simulated->steps[i - 1].after : Bytes();
    }
    return {};
}

Planner::Planner(Graph graph, Tape tape)
    : graph_(std::make_shared<const Graph>(std::move(graph))), tape_(std::move(tape)) {
    const FlatGraph flat = flatten(*graph_);
    whole_peak_ = keep_all_peak(flat);
    residents_ = Bytes(flat.resident_bytes);
    whole_held_ = held_by_others(Problem{*graph_, flat}, lower(flat, keep_all_sequence(flat)), 2, Bytes());
}

Planner::~Planner() {
    stop_.request_stop();
    wait();
}

std::shared_ptr<Planner> Planner::on_absent_device(DeviceRuntime& device) const {
    const DeviceProfile& profile = *device.profile_if_absent();
    CapturedStep step{.graph = *graph_, .tape = tape_};
    for (Tensor& tensor : step.graph.tensors)
        if (tensor.name == library_workspace_name) tensor.bytes = Bytes(device.library_workspace());
    step.graph.device = device.description();
    predict_costs(step, profile);
    add_provenance(step.graph, {{"device", device.name()}, {"times", "roofline model of " + profile.name}});
    return with_step(std::move(step));
}

std::shared_ptr<Planner> Planner::with_step(CapturedStep step) const {
    step.graph.replay = nullptr;
    std::shared_ptr<Planner> planner = with(std::move(step.graph), std::move(step.tape));
    planner->kept_by_loss_ = kept_by_loss_;
    return planner;
}

std::shared_ptr<Planner> Planner::with(Graph graph, Tape tape) {
    return std::shared_ptr<Planner>(new Planner(std::move(graph), std::move(tape)));
}

Result<std::shared_ptr<Planner>> Planner::create(const StepRecording& first, const StepRecording& second,
                                                 const std::string& name, DeviceRuntime& device) {
    if (auto what = difference(first.recording(), second.recording())) return Error{*what};
    if (first.passed_inputs() != second.passed_inputs())
        return Error{"other inputs are passed through to the outputs in the next step"};
    const auto footprint = [&](std::int64_t bytes) { return device.footprint(bytes); };
    Recording one = first.recording(), two = second.recording();
    for (std::size_t i = 0; i < one.outputs_held.size(); ++i)
        one.outputs_held[i] = two.outputs_held[i] = one.outputs_held[i] || two.outputs_held[i];
    const CapturedStep other = build_graph(std::move(one), footprint);
    CapturedStep step = build_graph(std::move(two), footprint);
    settle_costs(step, other);
    add_queues(step.graph, step.tape);
    const LossMemory loss{.most = std::max(first.loss().most, second.loss().most),
                          .kept = std::max(first.loss().kept, second.loss().kept)};
    return of(std::move(step), second, loss, name, device, "from a real step",
              "median of ops in two recorded steps");
}

Result<std::shared_ptr<Planner>> Planner::from_shapes(const StepRecording& recording, const std::string& name,
                                                      DeviceRuntime& device, bool timed,
                                                      const std::vector<NamedTensor>& there) {
    const auto footprint = [&](std::int64_t bytes) { return device.footprint(bytes); };
    CapturedStep step = build_graph(recording.recording(), footprint);
    step.graph.name = name;
    const DeviceProfile* profile = device.profile_if_absent();
    if (profile) {
        add_library_workspace(step.graph, device);
        predict_costs(step, *profile);
    } else if (timed) {
        std::map<TensorId, c10::Storage> storages;
        for (const Binding& binding : step.tape.bindings)
            for (const NamedTensor& named : there)
                if (binding.is_parameter && named.name == binding.name)
                    storages.emplace(binding.operand.tensor, named.tensor.storage());
        // An eviction that sees these ops would free their results only when the next op begins, so the
        // measured workspaces would be too small. If there is not enough memory for the ops, the step is not
        // planned from shapes.
        const NotEvicted unseen(device, {}, "the timing of ops");
        const MemoryLimit::Attempt attempt;
        if (Result<void> profiled = profile_ops(step, device, {}, storages); !profiled)
            return profiled.error();
    } else {
        for (OpId op : step.graph.ops.ids()) step.graph.ops[op].time = Nanoseconds(1);
    }
    LossMemory loss;
    for (OpId id : step.graph.ops.ids()) {
        if (step.tape.ops[id].name != output_gradients_op) continue;
        for (TensorId given : step.graph.ops[id].outputs) {
            std::int64_t bytes = step.graph.tensors[given].bytes.value;
            if (bytes <= 8) continue;
            // A loss of 16-bit numbers is computed in 32 bits.
            bytes *= loss_factor(step, given);
            loss.most += 4 * device.most_footprint(bytes);
            loss.kept += 2 * device.most_footprint(bytes);
        }
    }
    loss = {.most = std::max(loss.most, recording.loss().most),
            .kept = std::max(loss.kept, recording.loss().kept)};
    return of(std::move(step), recording, loss, name, device, "from shapes",
              profile ? "roofline model of " + profile->name
                      : "median of each distinct op, run alone on random operands");
}

Result<std::shared_ptr<Planner>> Planner::of(CapturedStep step, const StepRecording& recording,
                                             LossMemory loss, const std::string& name, DeviceRuntime& device,
                                             const std::string& captured, const std::string& times) {
    add_loss(step, loss);
    step.graph.name = name;
    step.tape.threads = at::get_num_threads();
    step.tape.unused_outputs = recording.unused_outputs();
    note_origin(step, device);
    if (recording.settings()) add_provenance(step.graph, {{"settings", to_json(*recording.settings())}});
    add_provenance(step.graph, {{"captured", captured}, {"times", times}});
    if (Result<void> valid = validate(step.graph); !valid) return valid.error();
    std::shared_ptr<Planner> planner(new Planner(std::move(step.graph), std::move(step.tape)));
    std::int64_t given = 0;
    for (OpId id : planner->graph().ops.ids())
        if (planner->tape().ops[id].name == output_gradients_op)
            for (TensorId out : planner->graph().ops[id].outputs)
                given += planner->graph().tensors[out].bytes.value;
    planner->kept_by_loss_ = Bytes(std::max<std::int64_t>(0, loss.kept - given));
    return planner;
}

Result<Bytes> Planner::step_budget(const Budget& budget, Bytes beside, int frames) const {
    if (budget.of == Budget::Of::nothing) return budget.bytes - beside - kept_by_loss_;
    return bytes_of(budget, {.peak = whole_peak(frames), .resident = residents_});
}

void Planner::start(SolveRequest request, int frames, Bytes beside, bool in_arena) {
    stop_.request_stop();
    wait();
    stop_ = {};
    const std::lock_guard lock(mutex_);
    future_ = {};
    answer_.reset();
    const Result<Bytes> budget = step_budget(request.budget, beside, frames);
    if (!budget) {
        answer_ = PlanAnswer{.found = budget.error(), .budget = {}, .beside = beside, .others = {}};
        return;
    }
    request.budget = *budget;
    request.limits.stop = stop_.get_token();
    for (const int operand : tape_.outputs)
        if (operand != no_operand) request.copies.held.push_back(tape_.operands[operand].tensor);
    future_ = std::async(
        std::launch::async,
        [graph = request.copies.in_training ? without_host_ops(graph_) : graph_, request = std::move(request),
         budget = *budget, frames, beside, in_arena, kept = kept_by_loss_,
         step = StepBytes{.peak = whole_peak(frames), .resident = residents_}] {
            PlanAnswer answer = solve_for(*graph, request, frames, kept, in_arena, step.peak);
            answer.budget = budget;
            answer.beside = beside;
            answer.step = step;
            // The process is the caller's, so the memory of the search is given back to the system.
            CountingAllocator::give_back_free_pages();
            return answer;
        });
}

bool Planner::is_solving() const {
    return future_.valid() && future_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

bool Planner::busy() const {
    const std::lock_guard lock(mutex_);
    return is_solving();
}

void Planner::wait() const {
    std::shared_future<PlanAnswer> future;
    {
        const std::lock_guard lock(mutex_);
        future = future_;
    }
    if (future.valid()) future.wait();
}

const PlanAnswer* Planner::answer() {
    const std::lock_guard lock(mutex_);
    if (is_solving()) return nullptr;
    if (future_.valid() && !answer_) answer_ = future_.get();
    return answer_ ? &*answer_ : nullptr;
}

}  // namespace rematlas
