#include "runtime/replay/open_forward.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <set>

#include "runtime/replay/compare.h"
#include "runtime/replay/strided_copy.h"

namespace rematlas {
namespace {

/// Returns positions in BoundModel::bound. With `all_written`: the positions of all tensors that the step
/// writes to. With `what_ops_read`: only those of the written tensors that other ops of the step use, too.
/// Parameters that the step's optimizer updates are left out, because no caller restores their state before
/// the updates.
std::set<std::size_t> written_by(const BoundModel& model, Snapshot::Of of) {
    std::set<TensorId> tensors;
    for (const BufferUpdate& update : model.tape.updates) tensors.insert(update.buffer);
    if (of == Snapshot::Of::all_written)
        for (const Op& op : model.graph.ops)
            if (op.phase != Phase::optimizer) tensors.insert(op.mutates.begin(), op.mutates.end());
    std::set<std::size_t> places;
    for (std::size_t i = 0; i < model.tape.bindings.size(); ++i)
        if (tensors.contains(model.tape.bindings[i].operand.tensor)) places.insert(i);
    return places;
}

const std::vector<int>& gradient_operands(const BoundModel& model) {
    return model.tape.ops[model.loss].arguments[1].operands;
}

/// Says whether `tensor` is the only reference to the tensor, and no view shares its memory. A tensor and its
/// Python object refer to each other; the object's reference does not count if nobody else holds the object.
bool is_held_here_alone(const at::Tensor& tensor) {
    const auto uses = tensor.use_count();
    const bool alone =
        uses == 1 || (uses == 2 && tensor.unsafeGetTensorImpl()->pyobj_slot()->has_unique_reference());
    return alone && tensor.storage().use_count() == 1;
}

}  // namespace

Snapshot::Snapshot(const BoundModel& model, Of of)
    : model_(model), generator_(model.device.generator_state()) {
    for (std::size_t place : written_by(model, of)) {
        const c10::Storage& storage = model.bound[place].storage();
        const auto options = c10::TensorOptions().dtype(c10::ScalarType::Byte).device(storage.device());
        c10::Storage copy = at::empty({static_cast<std::int64_t>(storage.nbytes())}, options).storage();
        model.device.copy(copy, storage);
        written_.emplace_back(place, std::move(copy));
    }
}

void Snapshot::restore() const {
    restore_generator();
    restore_tensors();
}

void Snapshot::restore_tensors() const {
    for (const auto& [place, copy] : written_) {
        c10::Storage storage = model_.bound[place].storage();
        model_.device.copy(storage, copy);
    }
}

c10::Storage Snapshot::contents_of(TensorId tensor) const {
    const auto found = std::find_if(written_.begin(), written_.end(), [&](const auto& written) {
        return model_.tape.bindings[written.first].operand.tensor == tensor;
    });
    return found == written_.end() ? c10::Storage() : found->second;
}

std::string Snapshot::different_tensor(const Snapshot& other) const {
    const auto bytes_of = [](const c10::Storage& storage) {
        at::Tensor bytes =
            at::empty({0}, c10::TensorOptions().dtype(c10::ScalarType::Byte).device(storage.device()));
        bytes.set_(storage, 0, {static_cast<std::int64_t>(storage.nbytes())}, {1});
        return bytes;
    };
    for (std::size_t i = 0; i < written_.size(); ++i)
        if (!identical(bytes_of(written_[i].second), bytes_of(other.written_[i].second)))
            return model_.tape.bindings[written_[i].first].name;
    return {};
}

Result<void> check_output_gradients(const BoundModel& model, const std::vector<at::Tensor>& gradients) {
    const std::vector<int>& operands = gradient_operands(model);
    if (gradients.size() != operands.size())
        return Error{std::to_string(operands.size()) + " gradients of outputs are needed, " +
                     std::to_string(gradients.size()) + " were given"};
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const Operand& operand = model.tape.operands[operands[i]];
        const at::Tensor& given = gradients[i];
        const std::string which = "the gradient of output " + std::to_string(i);
        if (!given.defined()) return Error{which + " is missing", ErrorKind::negative};
        if (given.scalar_type() != operand.dtype || given.sizes() != c10::IntArrayRef(operand.sizes) ||
            !lies_as(given, operand.strides) || given.is_conj() != operand.conjugated ||
            given.is_neg() != operand.negated)
            return Error{
                which + " has another type or lies differently in memory than when the step was captured",
                ErrorKind::negative};
    }
    return {};
}

/// Notes the versions of the parameters, inputs and outputs that later steps of the schedule read. So the
/// backward notices if the caller has written to one of them.
void OpenForward::watch(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
    const BoundModel& model = run_->model;
    const auto add = [&](const at::Tensor& tensor, TensorId id, std::string what) {
        if (tensor.is_inference() || !plan_->reads_later(id, run_->at())) return;
        const c10::VariableVersion& version = tensor.unsafeGetTensorImpl()->version_counter();
        watched_.push_back({version, version.current_version(), std::move(what)});
    };
    for (std::size_t i = 0; i < model.bound.size(); ++i) {
        const Binding& binding = model.tape.bindings[i];
        if (binding.is_parameter) add(model.bound[i], binding.operand.tensor, "parameter " + binding.name);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
        add(inputs[i], model.tape.operands[model.tape.inputs[i].second].tensor, "input " + std::to_string(i));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (model.tape.outputs[i] != no_operand)
            add(outputs[i], model.tape.operands[model.tape.outputs[i]].tensor, "output " + std::to_string(i));
}

Result<void> OpenForward::check_watched() const {
    for (const Watched& one : watched_)
        if (one.version.current_version() != one.seen)
            return Error{one.what + " was written to between the forward and its backward, which needs it"};
    return {};
}

Result<std::vector<at::Tensor>> OpenForward::forward(const std::vector<at::Tensor>& inputs,
                                                     const ReplayOptions& options) {
    const BoundModel& model = run_->model;
    before_ = std::make_unique<Snapshot>(
        model, model.guarded ? Snapshot::Of::all_written : Snapshot::Of::what_ops_read);
    const ReplayOptions of_halves{.measure_peak = options.measure_peak,
                                  .before_op = options.before_op,
                                  .arena = options.arena,
                                  .most_arena_bytes = options.most_arena_bytes};
    if (Result<void> begun = run_->begin(*plan_, inputs, of_halves); !begun) return begun.error();
    std::vector<at::Tensor> outputs;
    Result<void> played = run_->play(plan_->loss_step, [&] {
        run_->turns.skip_to(model.forward_random);
        run_->update_buffers_of_forward([this](TensorId buffer) { return before_->contents_of(buffer); });
        outputs = run_->outputs();
    });
    if (!played) {
        if (played.error().kind == ErrorKind::negative) before_->restore();
        return played.error();
    }
    watch(inputs, outputs);
    held_ = model.device.alive_bytes() - run_->outside;
    for (const TensorId tensor : plan_->handed_out) {
        run_->operands.clear(tensor);
        held_ -= model.graph.tensors[tensor].bytes.value;
    }
    return outputs;
}

/// Keeps the gradients for the step that asks for them. A gradient is used in place if its layout fits, and
/// if either nobody else holds it or no step writes over it. Other gradients are copied later. Returns the
/// bytes of the gradients that are used in place and that nobody else holds.
std::int64_t OpenForward::take_given(std::vector<at::Tensor> gradients) {
    const BoundModel& model = run_->model;
    given_.clear();
    std::int64_t taken = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const Operand& operand = model.tape.operands[gradient_operands(model)[i]];
        at::Tensor& given = gradients[i];
        const bool usable = given.defined() && given.has_storage() && !given.is_conj() && !given.is_neg() &&
                            given.storage_offset() == operand.offset &&
                            given.scalar_type() == operand.dtype &&
                            given.sizes() == c10::IntArrayRef(operand.sizes) &&
                            lies_as(given, operand.strides) && given.device() == model.device.device() &&
                            model.device.footprint(static_cast<std::int64_t>(given.storage().nbytes())) ==
                                model.graph.tensors[operand.tensor].bytes.value;
        const bool alone = usable && is_held_here_alone(given);
        if (!usable || !(alone || plan_->stays(operand.tensor))) {
            given_.push_back(given);
            continue;
        }
        // A gradient that others hold too does not count as the step's.
        if (alone) taken += model.graph.tensors[operand.tensor].bytes.value;
        run_->operands.place(operand.tensor, given.storage());
        given = at::Tensor();
    }
    return taken;
}

Result<std::vector<std::pair<int, at::Tensor>>> OpenForward::next_part(
    std::vector<at::Tensor> output_gradients) {
    const BoundModel& model = run_->model;
    const std::int64_t alive = model.device.alive_bytes();
    if (part_ == 0) {
        if (Result<void> untouched = check_watched(); !untouched) return untouched.error();
        watched_.clear();
        const std::int64_t taken = take_given(std::move(output_gradients));
        run_->outside = alive - held_ - taken;
        run_->fill_gradients = [this](std::vector<at::Tensor>& made) {
            for (std::size_t i = 0; i < made.size(); ++i) once_each(made[i]).copy_(once_each(given_[i]));
            given_.clear();
        };
    }
    const BackwardPart& part = plan_->parts[part_];
    std::vector<std::pair<int, at::Tensor>> gradients;
    Result<void> played = run_->play(part.end, [&] {
        if (part_ + 1 == plan_->parts.size()) {
            run_->turns.skip_to(static_cast<int>(model.random_ops.size()));
            run_->update_buffers();
        }
        for (int place : part.gradients) gradients.emplace_back(place, run_->gradient(place));
    });
    if (!played) return played.error();
    for (int place : part.gradients)
        run_->operands.clear(model.tape.operands[model.tape.gradients[place].operand].tensor);
    // The caller writes to its gradients, so each gradient needs its own memory.
    at::NoGradGuard no_grad;
    for (auto& [place, gradient] : gradients)
        if (gradient.storage().use_count() > 1) gradient = gradient.clone();
    ++part_;
    return gradients;
}

void OpenForward::rewind() {
    run_->clear();
    now_ = std::make_unique<Snapshot>(run_->model, Snapshot::Of::all_written);
    before_->restore();
}

void OpenForward::restore() {
    if (now_ && run_->has_updated_buffers_of_forward())
        now_->restore();
    else if (now_)
        now_->restore_generator();
    now_ = nullptr;
}

}  // namespace rematlas
