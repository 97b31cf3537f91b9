#include "runtime/replay/replay_run.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace rematlas {
namespace {

bool same_number(const c10::IValue& a, const c10::IValue& b) {
    if (a.isDouble() && b.isDouble())  // bits are compared, so NaN equals itself
        return std::bit_cast<std::uint64_t>(a.toDouble()) == std::bit_cast<std::uint64_t>(b.toDouble());
    return a == b;
}

/// Says whether the tensor has these sizes and strides. The strides of a tensor without elements are ignored.
bool is_as_expected(const at::Tensor& tensor, const Geometry& expected) {
    return tensor.sizes() == c10::IntArrayRef(expected.sizes) &&
           (tensor.numel() == 0 || lies_as(tensor, expected.strides));
}

void expect_unchanged(const Guard& guard, const c10::IValue& read) {
    if (same_number(guard.value, read)) return;
    throw CourseChanged(c10::str("the program reads ", read, guard.line.empty() ? "" : " at " + guard.line,
                                 ", and ", guard.value,
                                 " when it was captured: its course depends on the data"));
}

/// Returns a copy of the list. The tensors in it are not copied.
c10::IValue copy_of_list(const c10::IValue& list) {
    if (list.isTensorList()) return list.toTensorList().copy();
    if (list.isOptionalTensorList()) return list.toOptionalTensorList().copy();
    return list.deepcopy();
}

}  // namespace

/// Compares names of types, because libtorch's Python part is not linked.
bool is_of_python(const std::exception& failure) {
    const std::string_view name = typeid(failure).name();
    return name == "12python_error" || name == "N8pybind1117error_already_setE";
}

ReplayRun::ReplayRun(const BoundModel& bound)
    : model(bound),
      operands(bound.tape.operands, bound.graph.tensors.size(), bound.device.device()),
      turns(bound),
      overwrites_(bound),
      collectives_(bound.graph) {
    model.place_constants(operands);
    for (OpId op : model.graph.ops.ids()) arguments_.push_back(model.arguments_of(op, operands));
    runs_.resize(model.graph.ops.size());
    values_version_ = model.values_version;
}

void ReplayRun::read_values() {
    if (values_version_ == model.values_version) return;
    values_version_ = model.values_version;
    for (OpId op : model.graph.ops.ids())
        for (std::size_t i = 0; i < arguments_[op].size(); ++i)
            if (const Argument& argument = model.tape.ops[op].arguments[i];
                argument.kind == Argument::Kind::value)
                arguments_[op][i] = argument.value;
}

Result<void> ReplayRun::begin(const ReplayPlan& ready, const std::vector<at::Tensor>& inputs,
                              const ReplayOptions& how) {
    clear();
    model.device.prepare();
    if (Result<void> same = model.check_settings(); !same) return same.error();
    if (Result<void> fits = model.place_bound(operands); !fits) return fits.error();
    if (Result<void> fed = model.place_inputs(operands, inputs); !fed) return fed.error();
    read_values();
    plan = &ready;
    at_ = 0;
    options_ = how;
    try {
        bring_to_device(model, plan->transfers ? plan->transfers->homes : Homes(), operands);
        if (Result<void> begun = begin_transfers(inputs); !begun) return begun.error();
    } catch (const std::exception& failure) {
        return Error{model.owner + ": " + one_line(failure), ErrorKind::failure};
    }
    highest_ = 0;
    measures_.clear();
    are_buffers_updated_ = false;
    in_buffers_.assign(model.tape.updates.size(), TensorId());
    std::fill(runs_.begin(), runs_.end(), 0);
    in_kernel_ = false;
    turns.clear();
    if (options_.time_ops) {
        measures_.reserve(plan->steps.size());
        marks_ = model.device.marks(plan->steps.size() + 1);
    }
    if (options_.time_ops) model.device.synchronize();
    outside = model.device.alive_bytes() - model.resident_bytes;
    if (transfers_) outside += transfers_->bytes_away_at_start();
    begin_memory();
    return {};
}

/// Begins the copies of the training step. If the previous training step had the same plan, its StepTransfers
/// and their host memory are used again.
Result<void> ReplayRun::begin_transfers(const std::vector<at::Tensor>& inputs) {
    if (!plan->transfers || (transfers_ && transfers_->plan() != plan->transfers.get())) transfers_ = nullptr;
    if (!plan->transfers) return {};
    if (!transfers_) {
        Result<std::unique_ptr<StepTransfers>> opened =
            StepTransfers::open(model, plan->transfers, *model.links);
        if (!opened) return opened.error();
        transfers_ = opened.take();
    }
    return transfers_->begin(operands, inputs, options_.clock);
}

/// Begins the arena if the training step uses one. The arena is kept as long as the steps of the schedule and
/// the device's queue stay the same.
void ReplayRun::begin_memory() {
    in_memory_ = false;
    if (!options_.arena) return;
    if (!memory_) {
        const std::optional<ArenaMemory> where = model.device.arena_memory();
        if (!where) return;
        memory_ = std::make_unique<StepMemory>(*where);
    }
    in_memory_ = true;
    const std::int64_t queue = model.device.queue();
    if (plan->steps != memory_steps_ || queue != memory_queue_) {
        memory_steps_ = plan->steps;
        memory_queue_ = queue;
        ++memory_key_;
    }
    memory_->begin_step(memory_key_, options_.most_arena_bytes);
}

void ReplayRun::play_plainly(std::size_t end) {
    for (; at_ < end; ++at_) options_.time_ops ? run_timed(plan->steps[at_]) : run_step(plan->steps[at_]);
    collectives_.wait_for_all();
    if (transfers_) at_ == plan->steps.size() ? transfers_->end() : transfers_->pause(at_);
}

void ReplayRun::run_step(const Step& step) {
    collectives_.wait_before(step);
    if (transfers_) transfers_->before(at_, operands);
    if (step.runs()) {
        if (options_.before_op) options_.before_op();
        run_op(step.op(), step.kind == StepKind::run_inplace);
        if (options_.clock) options_.clock->run(model.graph.ops[step.op()].time);
    } else if (step.kind == StepKind::free && transfers_) {
        transfers_->free(step.tensor(), operands);
    } else if (step.kind == StepKind::free && !model.resident[step.tensor()]) {
        operands.clear(step.tensor());
    }
    if (transfers_) transfers_->after(at_);
}

void ReplayRun::run_op(OpId id, bool in_place) {
    const PreparedOp& op = model.ops[id];
    const bool again = runs_[id]++ > 0;
    if (!op.handle) return make_output_gradients(id);

    overwrites_.begin(id, in_place, operands);
    const std::unique_ptr<GeneratorState> now = op.turn >= 0 ? turns.enter(id) : nullptr;
    stack_ = arguments_[id];
    for (std::size_t position : op.lists) stack_[position] = copy_of_list(stack_[position]);
    if (again)
        for (std::size_t position : op.statistics) stack_[position] = at::Tensor();
    for (const int counter : model.tape.ops[id].counters) {
        operands[counter].add_(1);
        if (const int skips = model.tape.ops[id].skips; skips != no_operand)
            operands[counter].sub_(operands[skips]);
    }
    at::GradMode::set_enabled(model.tape.ops[id].grad_mode);
    in_kernel_ = true;
    try {
        op.is_collective ? run_collective(id) : op.handle->callBoxed(stack_);
    } catch (...) {
        if (now) model.device.set_generator_state(*now);
        throw;
    }
    in_kernel_ = false;
    at::GradMode::set_enabled(false);
    if (now) model.device.set_generator_state(*now);
    if (model.tape.ops[id].guard) expect_unchanged(*model.tape.ops[id].guard, stack_.front());
    take_returns(id);
    overwrites_.end(id, in_place, operands);
}

/// Runs the collective. If the graph gives the op a queue (Op::collective), the steps that need its results
/// wait for them; otherwise this function waits for the results.
void ReplayRun::run_collective(OpId id) {
    const c10::OperatorHandle& op = *model.ops[id].handle;
    CollectiveCall call(op, stack_);
    op.callBoxed(stack_);
    model.graph.ops[id].collective ? collectives_.add(id, std::move(call), stack_) : call.wait(stack_);
}

void ReplayRun::make_output_gradients(OpId id) {
    const TapeOp& op = model.tape.ops[id];
    std::vector<at::Tensor> made;
    for (std::size_t i = 0; i < op.returns.size(); ++i) {
        if (operands.holds(op.returns[i])) continue;  // given by the caller
        const Operand& operand = model.tape.operands[op.arguments[1].operands[i]];
        const std::size_t bytes = at::detail::computeStorageNbytes(
            operand.sizes, operand.strides, c10::elementSize(operand.dtype), operand.offset);
        const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(model.device.device());
        operands.place(op.returns[i], at::empty({static_cast<std::int64_t>(bytes)}, options).storage());
        made.push_back(operands.view(operand));
    }
    if (fill_gradients) fill_gradients(made);
}

/// Places the tensors that the kernel made. `stack_` holds the kernel's results.
void ReplayRun::take_returns(OpId id) {
    const TapeOp& op = model.tape.ops[id];
    const Graph& graph = model.graph;
    std::size_t next = 0;
    const auto take = [&](const at::Tensor& tensor) {
        const TensorId made = next < op.returns.size() ? op.returns[next] : TensorId();
        if (next < op.result_sizes.size() && tensor.defined() &&
            tensor.sizes() != c10::IntArrayRef(op.result_sizes[next]))
            throw CourseChanged(c10::str(model.label(id), ": its result has the shape ", tensor.sizes(),
                                         ", and ", c10::IntArrayRef(op.result_sizes[next]),
                                         " when it was captured: it depends on the data"));
        if (next < op.expected.size() && tensor.defined() && !is_as_expected(tensor, op.expected[next]))
            throw std::runtime_error(c10::str(model.label(id), ": its kernel gives ", tensor.sizes(),
                                              " with strides ", tensor.strides(), ", its shape function ",
                                              c10::IntArrayRef(op.expected[next].sizes), " with strides ",
                                              c10::IntArrayRef(op.expected[next].strides)));
        ++next;
        if (!made.valid()) return;
        TORCH_CHECK(tensor.defined(), "made no ", graph.tensors[made].name);
        const std::int64_t bytes =
            model.device.footprint(static_cast<std::int64_t>(tensor.storage().nbytes()));
        TORCH_CHECK(bytes == graph.tensors[made].bytes.value, "made ", bytes, " bytes, ",
                    graph.tensors[made].bytes.value, " when it was captured");
        operands.place(made, tensor.storage());
    };
    for (const c10::IValue& value : stack_) {
        if (value.isTensor()) {
            take(value.toTensor());
        } else if (value.isTensorList()) {
            for (const c10::IValue& element : value.toListRef()) take(element.toTensor());
        }
    }
    stack_.clear();
}

void ReplayRun::run_timed(const Step& step) {
    StepMeasure measure;
    const std::int64_t alive = model.device.alive_bytes();
    if (options_.measure_ops) model.device.reset_peak();
    marks_->place();
    run_step(step);
    measure.alive = model.device.alive_bytes() - outside;
    if (options_.measure_ops) {
        highest_ = std::max(highest_, model.device.peak_bytes() - outside);
        measure.workspace = model.device.peak_bytes() - alive;
    }
    measures_.push_back(measure);
}

/// Returns the measures. A step lasts from its mark to the next mark.
std::vector<StepMeasure> ReplayRun::take_measures() {
    if (!marks_) return {};
    marks_->place();
    const std::vector<std::int64_t> times = marks_->read();
    for (std::size_t i = 0; i < measures_.size(); ++i)
        measures_[i].start = times[i], measures_[i].end = times[i + 1];
    marks_ = nullptr;
    return std::move(measures_);
}

/// Returns the memory of the buffer. Ops may read the buffer's old contents elsewhere.
c10::Storage ReplayRun::memory_of(TensorId buffer) const {
    const auto found =
        std::find_if(moved_.begin(), moved_.end(), [&](const auto& moved) { return moved.first == buffer; });
    return found == moved_.end() ? operands.storage(buffer) : found->second;
}

void ReplayRun::update_buffers_of_forward(const std::function<c10::Storage(TensorId)>& before) {
    are_buffers_updated_ = true;
    for (std::size_t i = 0; i < model.tape.updates.size(); ++i) {
        const BufferUpdate& update = model.tape.updates[i];
        const TensorId contents = update.of_forward.valid() ? update.of_forward : update.contents;
        if (!operands.holds(contents)) continue;
        in_buffers_[i] = contents;
        c10::Storage buffer = operands.storage(update.buffer), made = operands.storage(contents);
        if (!plan->reads_later(update.buffer, at_)) {
            model.device.copy(buffer, made);
            continue;
        }
        moved_.emplace_back(update.buffer, buffer);
        c10::Storage old = before(update.buffer);
        model.device.copy(buffer, made);
        if (contents == update.contents) {
            // The new contents stay until the step ends, so the old contents can have their memory.
            model.device.copy(made, old);
            operands.place(update.contents, buffer);
            old = std::move(made);
        }
        operands.place(update.buffer, std::move(old));
    }
}

void ReplayRun::update_buffers() {
    are_buffers_updated_ = true;
    for (std::size_t i = 0; i < model.tape.updates.size(); ++i) {
        const BufferUpdate& update = model.tape.updates[i];
        if (std::exchange(in_buffers_[i], update.contents) == update.contents) continue;
        c10::Storage buffer = memory_of(update.buffer);
        model.device.copy(buffer, operands.storage(update.contents));
    }
}

bool ReplayRun::has_updated_buffers_of_forward() const {
    return std::all_of(in_buffers_.begin(), in_buffers_.end(),
                       [](TensorId tensor) { return tensor.valid(); });
}

bool ReplayRun::has_updated_buffers() const {
    return std::equal(in_buffers_.begin(), in_buffers_.end(), model.tape.updates.begin(),
                      [](TensorId tensor, const BufferUpdate& update) { return tensor == update.contents; });
}

std::vector<at::Tensor> ReplayRun::outputs() const {
    std::vector<at::Tensor> tensors;
    for (int operand : model.tape.outputs) tensors.push_back(result(operand));
    return tensors;
}

at::Tensor ReplayRun::result(int operand) const {
    if (operand == no_operand) return {};
    const Operand& of = model.tape.operands[operand];
    const at::Tensor on_host = transfers_ ? transfers_->result_on_host(of) : at::Tensor();
    return on_host.defined() || !operands.holds(of.tensor) ? on_host : operands.view(of);
}

at::Tensor ReplayRun::gradient(int place) const {
    return result(model.tape.gradients[place].operand);
}

std::vector<at::Tensor> ReplayRun::gradients() const {
    std::vector<at::Tensor> tensors;
    for (std::size_t i = 0; i < model.tape.gradients.size(); ++i) tensors.push_back(gradient(int(i)));
    return tensors;
}

/// Undoes the ops that add to counters and have run here, although the original runs them only after `op`.
/// They have run too early because ReplayPlan::make_halves moves them to the front.
void ReplayRun::count_back(OpId op) {
    for (std::size_t step = 0; step < at_; ++step) {
        if (!plan->steps[step].runs()) continue;
        const OpId counter = plan->steps[step].op();
        const Op& counts = model.graph.ops[counter];
        const PreparedOp& prepared = model.ops[counter];
        if (counter < op || counts.mutates.empty() || !counts.outputs.empty() || !prepared.handle) continue;
        stack_ = arguments_[counter];
        if (prepared.handle->operator_name().name != "aten::add_" || !stack_.back().isScalar()) continue;
        stack_.back() = -stack_.back().toScalar();  // negates the factor of the summand
        prepared.handle->callBoxed(stack_);
    }
    stack_.clear();
}

/// Called after an error. Leaves generator, counters and buffers as the original would have them just before
/// a certain op: the op that failed, if it failed in its first run; otherwise the next op of the schedule
/// that has not run yet. Does nothing in the backward, or if buffers have been updated already.
void ReplayRun::leave_as_original() {
    const bool within = std::exchange(in_kernel_, false);
    const bool in_second_half = !plan->parts.empty() && at_ >= plan->loss_step;
    if (in_second_half || are_buffers_updated_) return;
    const bool is_rerun = within && at_ < plan->steps.size() && runs_[plan->steps[at_].op()] > 1;
    for (std::size_t step = at_; step < plan->steps.size(); ++step) {
        if (!plan->steps[step].runs()) continue;
        const OpId op = plan->steps[step].op();
        const bool fails = within && step == at_ && !is_rerun;
        if (runs_[op] > 0 && !fails) continue;
        turns.leave_before(op, fails);
        count_back(op);
        break;
    }
    for (const BufferUpdate& update : model.tape.updates) {
        const TensorId contents = update.of_forward.valid() ? update.of_forward : update.contents;
        if (!operands.holds(contents) || !operands.holds(update.buffer)) continue;
        c10::Storage buffer = operands.storage(update.buffer);
        model.device.copy(buffer, operands.storage(contents));
    }
}

/// First frees the tensors that the step has made, because residents that have left the device need device
/// memory again.
void ReplayRun::clear() {
    collectives_.settle();
    if (transfers_) transfers_->settle();
    const auto clear_all = [&](auto&& are_meant) {
        for (TensorId tensor : model.graph.tensors.ids())
            if (are_meant(tensor) && operands.holds(tensor)) operands.clear(tensor);
    };
    clear_all([&](TensorId tensor) { return !model.resident[tensor]; });
    if (transfers_) transfers_->restore(operands);
    clear_all([&](TensorId tensor) { return model.graph.tensors[tensor].kind == TensorKind::input; });
    for (auto& [buffer, storage] : moved_) operands.place(buffer, std::move(storage));
    moved_.clear();
    stack_.clear();
    overwrites_.clear();
    turns.clear();
    fill_gradients = nullptr;
}

StepMemoryReport ReplayRun::finish() {
    clear();
    if (!in_memory_) return {};
    memory_->end_step();
    in_memory_ = false;
    return memory_->report();
}

}  // namespace rematlas
