#include "runtime/eviction/eviction_trace.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/graph/graph_file.h"
#include "core/schedule/schedule_file.h"
#include "core/schedule/simulate.h"

namespace rematlas {
namespace {

/// Names a tensor in the same way as captured graphs: by module and op, with `grad:` in front if the backward
/// made the tensor.
std::string name_of_output(const std::string& op, const std::string& module, Phase phase, std::size_t nth) {
    std::string name = (module.empty() ? "" : module + ".") + op.substr(op.rfind(':') + 1);
    if (phase == Phase::backward) name = "grad:" + name;
    if (nth > 0) name += ":" + std::to_string(nth);
    return name;
}

}  // namespace

EvictionTrace::There& EvictionTrace::at(int tensor) {
    if (static_cast<int>(tensors_.size()) <= tensor) tensors_.resize(static_cast<std::size_t>(tensor) + 1);
    return tensors_[static_cast<std::size_t>(tensor)];
}

void EvictionTrace::names(int tensor, std::string name, TensorKind kind) {
    There& there = at(tensor);
    there.name = std::move(name), there.kind = kind;
    if (!there.here) return;
    now_.graph.tensors[there.tensor].name = there.name;
    now_.graph.tensors[there.tensor].kind = kind;
}

void EvictionTrace::sees(std::int64_t alive) {
    const std::int64_t unknown = std::max<std::int64_t>(alive - known_bytes_, 0);
    other_ = other_ < 0 ? unknown : std::min(other_, unknown);
}

/// Notes a storage that an op reads for the first time. If the bytes of the storage have been alive since the
/// step began, the graph has the storage from the beginning. Otherwise the op `rematlas::outside` makes the
/// storage now.
void EvictionTrace::met(int tensor, std::int64_t bytes, std::int64_t alive, std::int64_t now) {
    const std::int64_t unknown = std::max<std::int64_t>(alive - known_bytes_ - bytes, 0);
    There& there = at(tensor);
    there = {.name = "outside", .kind = TensorKind::constant, .bytes = bytes};
    if (other_ < 0 || unknown < other_) {
        other_ = unknown;
        return appear(tensor, add_tensor(there, false));
    }
    there.kind = TensorKind::activation;
    const TensorId made = add_tensor(there, true);
    const OpId op = now_.graph.ops.push_back(
        {.name = "rematlas::outside", .outputs = {made}, .phase = phase_now(), .recomputable = false});
    add_step(Step::run(op), {now, now});
    appear(tensor, made);
}

Phase EvictionTrace::phase_now() {
    if (torch::autograd::get_current_node()) {
        saw_backward_ = true;
        return Phase::backward;
    }
    if (!at::GradMode::is_enabled() && (saw_backward_ || !saw_forward_)) return Phase::optimizer;
    saw_forward_ = true;
    return Phase::forward;
}

void EvictionTrace::looked() {
    if (torch::autograd::get_current_node()) return;
    by_sequence_.try_emplace(at::sequence_number::peek(),
                             Origin{OpId(), places_ ? places_->module().path : ""});
}

/// Returns the module of the op that is running. For a backward op, sets `of` to its forward op, which is
/// found by autograd's sequence numbers.
std::string EvictionTrace::module_now(std::optional<OpId>& of) {
    const auto node = torch::autograd::get_current_node();
    if (!node) return places_ ? places_->module().path : std::string();
    auto origin = by_sequence_.upper_bound(node->sequence_nr() + 1);
    if (origin == by_sequence_.begin() || node->sequence_nr() == UINT64_MAX) return backward_module_;
    backward_module_ = (--origin)->second.module;
    while (!origin->second.op.valid() && origin != by_sequence_.begin()) --origin;
    if (origin->second.op.valid()) of = origin->second.op;
    return backward_module_;
}

void EvictionTrace::ran(int op, Called called, const std::vector<std::int64_t>& bytes, Span span) {
    if (static_cast<int>(ops_.size()) <= op) ops_.resize(static_cast<std::size_t>(op) + 1);
    std::optional<OpId> of;
    Known& known = ops_[static_cast<std::size_t>(op)];
    known = {.called = std::move(called), .phase = phase_now()};
    known.module = module_now(of);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        There& there = at(known.called.outputs[i]);
        there = {.name = name_of_output(known.called.name, known.module, known.phase, i),
                 .kind = known.phase == Phase::backward ? TensorKind::gradient : TensorKind::activation,
                 .bytes = bytes[i]};
    }
    play(op, !known.called.in_place.empty(), span, of);
    if (known.phase != Phase::backward)
        by_sequence_.try_emplace(at::sequence_number::peek(), Origin{known.op, known.module});
}

void EvictionTrace::ran_again(int op, bool in_place, Span span) {
    play(op, in_place, span, std::nullopt);
}

void EvictionTrace::play(int id, bool in_place, Span span, std::optional<OpId> of) {
    Known& known = ops_[static_cast<std::size_t>(id)];
    std::vector<TensorId> inputs;
    for (const int tensor : known.called.inputs) {
        const There& there = at(tensor);
        if (there.here && std::find(inputs.begin(), inputs.end(), there.tensor) == inputs.end())
            inputs.push_back(there.tensor);
    }
    if (known.step != step_ || now_.graph.ops[known.op].inputs != inputs) {
        known.op = add_op(known, std::move(inputs));
        known.step = step_;
        now_.graph.ops[known.op].of = of;
    }
    add_step(in_place ? Step::run_inplace(known.op) : Step::run(known.op), span);
    if (in_place)
        for (const auto& [output, input] : known.called.in_place) vanish(at(input));
    for (std::size_t i = 0; i < known.called.outputs.size(); ++i)
        appear(known.called.outputs[i], now_.graph.ops[known.op].outputs[i]);
}

OpId EvictionTrace::add_op(const Known& known, std::vector<TensorId> inputs) {
    Op op{.name = known.called.name,
          .time = Nanoseconds(known.called.time),
          .workspace = Bytes(known.called.workspace),
          .inputs = std::move(inputs),
          .phase = known.phase,
          .module = known.module,
          .random = known.called.random,
          .recomputable = known.called.recomputable};
    for (const int tensor : known.called.outputs) op.outputs.push_back(add_tensor(at(tensor), true));
    for (const auto& [output, input] : known.called.in_place) {
        const auto nth = std::find(known.called.outputs.begin(), known.called.outputs.end(), output);
        op.inplace.push_back(
            {op.outputs[static_cast<std::size_t>(nth - known.called.outputs.begin())], at(input).tensor});
    }
    for (const int tensor : known.called.changes)
        if (at(tensor).here &&
            std::find(op.mutates.begin(), op.mutates.end(), at(tensor).tensor) == op.mutates.end())
            op.mutates.push_back(at(tensor).tensor);
    return now_.graph.ops.push_back(std::move(op));
}

TensorId EvictionTrace::add_tensor(const There& there, bool is_made) {
    is_made_.push_back(is_made);
    return now_.graph.tensors.push_back({there.name, Bytes(there.bytes), there.kind});
}

/// Notes that the evictor's tensor `tensor` is now present, and that the graph's tensor `as` represents it.
/// If another tensor of the graph represented it before, that tensor is freed.
void EvictionTrace::appear(int tensor, TensorId as) {
    There& there = at(tensor);
    if (there.here && there.tensor != as) {
        const std::int64_t end = now_.measures.back().end + began_;
        add_step(Step::free(there.tensor), {end, end});
        vanish(there);
    }
    if (!there.here) known_bytes_ += there.bytes;
    there.here = true;
    there.tensor = as;
    if (!now_.measures.empty()) now_.measures.back().alive = known_bytes_;
}

void EvictionTrace::vanish(There& there) {
    if (!std::exchange(there.here, false)) return;
    known_bytes_ -= there.bytes;
    if (!is_made_[there.tensor.index()]) leaving_.push_back(there.tensor);
}

void EvictionTrace::dropped(int tensor, bool evicted, std::int64_t now) {
    There& there = at(tensor);
    if (!there.here) return;  // an op has overwritten the tensor
    if (evicted) now_.schedule.evicted.push_back(static_cast<std::int32_t>(now_.schedule.steps.size()));
    vanish(there);
    add_step(Step::free(there.tensor), {now, now});
}

void EvictionTrace::add_step(Step step, Span span) {
    if (now_.schedule.steps.empty()) began_ = span.start;
    now_.schedule.steps.push_back(step);
    now_.measures.push_back({.start = span.start - began_, .end = span.end - began_, .alive = known_bytes_});
}

void EvictionTrace::step_is_over(std::int64_t alive, std::int64_t most) {
    if (saw_forward_ || saw_backward_) {
        now_.counted_peak = Bytes(most);
        end();
        last_ = std::move(now_);
    }
    now_ = {};
    leaving_.clear();
    is_made_.clear();
    by_sequence_.clear();
    backward_module_.clear();
    saw_forward_ = saw_backward_ = false;
    ++step_;
    for (There& there : tensors_)
        if (there.here) there.tensor = add_tensor(there, false);
    other_ = std::max<std::int64_t>(alive - known_bytes_, 0);
}

/// Completes the graph of the step: its results, the tensors that existed before it, and the memory that the
/// evictor does not know.
void EvictionTrace::end() {
    Graph& graph = now_.graph;
    for (const There& there : tensors_)
        if (there.here && is_made_[there.tensor.index()]) graph.results.push_back(there.tensor);
    for (const TensorId tensor : leaving_) is_made_[tensor.index()] = true;
    for (Op& op : graph.ops)
        std::erase_if(op.mutates, [&](TensorId tensor) { return is_made_[tensor.index()]; });
    if (other_ > 0) graph.tensors.push_back({"other memory", Bytes(other_), TensorKind::constant});
    for (StepMeasure& measure : now_.measures) measure.alive += other_;
    if (leaving_.empty()) return;

    IdVector<OpId, Op> ops;
    ops.push_back({.name = "rematlas::before_step",
                   .outputs = std::move(leaving_),
                   .phase = graph.ops.empty() ? Phase::forward : graph.ops[OpId(0)].phase,
                   .recomputable = false});
    for (Op& op : graph.ops) {
        if (op.of) op.of = OpId(op.of->value + 1);
        ops.push_back(std::move(op));
    }
    graph.ops = std::move(ops);
    std::vector<Step>& steps = now_.schedule.steps;
    for (Step& step : steps)
        if (step.runs()) ++step.id;
    steps.insert(steps.begin(), Step::run(OpId(0)));
    for (std::int32_t& step : now_.schedule.evicted) ++step;
    now_.measures.insert(now_.measures.begin(), StepMeasure{.alive = now_.measures.front().alive});
}

Result<EvictedStep> finished(EvictedStep step, const std::string& name, Bytes budget,
                             const nlohmann::json& config) {
    step.graph.name = step.schedule.graph = name;
    if (Result<void> valid = validate(step.graph); !valid) return valid.error();
    const Result<Simulation> simulation = simulate(step.graph, step.schedule.steps);
    if (!simulation) return simulation.error();
    Nanoseconds once;
    for (const Op& op : step.graph.ops) once += op.time;
    Schedule& schedule = step.schedule;
    schedule.solver = "evict";
    schedule.config = std::make_shared<const nlohmann::json>(config);
    schedule.budget = budget;
    schedule.time = simulation->time;
    schedule.overhead = once.value > 0 ? double(simulation->time.value) / double(once.value) : 1;
    schedule.peak = simulation->peak;
    schedule.status = "feasible";
    return step;
}

Result<void> write_step(EvictedStep& step, const std::filesystem::path& name) {
    const auto with = [&](const char* end) { return std::filesystem::path(name.string() + end); };
    if (Result<void> written = write_graph(step.graph, with(".graph.json")); !written) return written;
    step.schedule.graph_sha256 = step.graph.sha256;
    return write_schedule(step.schedule, with(".schedule.json"));
}

}  // namespace rematlas
