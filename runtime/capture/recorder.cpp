#include "runtime/capture/recorder.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>

#include "runtime/capture/input_parts.h"
#include "runtime/capture/op_traits.h"
#include "runtime/dispatch/stack_tensors.h"
#include "runtime/shapes/shape_tensor.h"

namespace rematlas {
namespace {

/// The most bytes of a constant. A step with a larger constant is refused, because the graph file contains
/// the constants.
constexpr std::int64_t largest_constant = std::int64_t{64} << 20;

/// Returns the whole storage as a one-dimensional tensor of bytes.
at::Tensor bytes_of(const at::Tensor& tensor) {
    const c10::DispatchKeySet keys(tensor.device().is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA);
    at::Tensor bytes = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(tensor.storage()), keys, c10::scalarTypeToTypeMeta(c10::ScalarType::Byte));
    bytes.unsafeGetTensorImpl()->set_sizes_contiguous({static_cast<std::int64_t>(tensor.storage().nbytes())});
    return bytes;
}

TensorLayout layout_of(const at::Tensor& tensor) {
    const std::string_view name = dtype_name(tensor.scalar_type());
    TensorLayout layout{name.empty() ? c10::toString(tensor.scalar_type()) : std::string(name),
                        tensor.sizes().vec()};
    if (!tensor.is_contiguous()) layout.strides = tensor.strides().vec();
    return layout;
}

}  // namespace

Recorder::Recorder(const std::vector<NamedTensor>& tensors, const std::vector<at::Tensor>& inputs,
                   const std::vector<InputSpec>& specs, Places& places, DeviceRuntime& device,
                   RecorderOptions options)
    : device_(device),
      options_(std::move(options)),
      memory_(options_.memory ? *options_.memory : device),
      source_(places) {
    for (const NamedTensor& named : tensors) {
        resident(named.tensor, named.is_parameter ? TensorKind::parameter : TensorKind::buffer, named.name);
        recording_.bindings.push_back(
            {named.name, named.is_parameter, recording_.operands[operand_of(named.tensor)]});
        if (options_.in_process) named_.emplace_back(named.name, named.tensor);
    }
    add_inputs(inputs, specs);
    if (options_.in_process) generator_ = device_.generator_state()->digest();
}

void Recorder::add_inputs(const std::vector<at::Tensor>& inputs, const std::vector<InputSpec>& specs) {
    const auto parts = parts_of(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        given_.insert(inputs[i].unsafeGetTensorImpl());
        if (!is_known(inputs[i])) {
            const int value = resident(inputs[i], TensorKind::input, "input" + std::to_string(i));
            if (options_.in_process) {
                const InputPart& part = parts.at(inputs[i].storage().unsafeGetStorageImpl());
                Place& place = places_.at(inputs[i].storage().unsafeGetStorageImpl());
                place.base = part.begin;
                place.bytes = recording_.values[value].bytes = part.bytes();
            }
        }
        recording_.inputs.emplace_back(specs[i], operand_of(inputs[i]));
    }
}

int Recorder::new_value(const at::Tensor& tensor, RecordedValue value) {
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    value.bytes = static_cast<std::int64_t>(storage->nbytes());
    value.layout = value.version_of < 0 ? layout_of(tensor) : recording_.values[value.version_of].layout;
    recording_.values.push_back(std::move(value));
    const int id = static_cast<int>(recording_.values.size()) - 1;
    places_.insert_or_assign(
        storage, Place{c10::weak_intrusive_ptr<c10::StorageImpl>(tensor.storage().getWeakStorageImpl()), id,
                       0, recording_.values.back().bytes});
    return id;
}

int Recorder::resident(const at::Tensor& tensor, TensorKind kind, const std::string& name) {
    given_.insert(tensor.unsafeGetTensorImpl());
    if (is_known(tensor)) return value_of(tensor);
    return new_value(tensor, {.kind = kind, .name = name, .depends_on_data = true});
}

const Recorder::Place* Recorder::place_of(const at::Tensor& tensor) const {
    const auto found = places_.find(tensor.storage().unsafeGetStorageImpl());
    return found != places_.end() && !found->second.storage.expired() ? &found->second : nullptr;
}

bool Recorder::is_known(const at::Tensor& tensor) const {
    return place_of(tensor) != nullptr;
}

/// Returns the value of the current version of a tensor's storage. A tensor that is seen for the first time
/// becomes a constant.
int Recorder::value_of(const at::Tensor& tensor) {
    if (const Place* place = place_of(tensor)) return place->value;
    if (runs_python(tensor))
        refuse("a tensor of a class with __torch_dispatch__",
               "a plan knows the memory of plain tensors only");
    if (options_.in_process && tensor.requires_grad())
        refuse(
            "a tensor that requires a gradient",
            "it is neither a parameter nor an input of the module: register it as a parameter, or pass it as "
            "an argument");
    const int value = new_value(tensor, {.kind = TensorKind::constant, .name = "constant"});
    snapshot(value, tensor);
    foreign_.insert(value);
    outside_.add(tensor);
    return value;
}

void Recorder::snapshot(int value, const at::Tensor& tensor) {
    RecordedValue& constant = recording_.values[value];
    constant.kind = TensorKind::constant;
    constant.name = "constant" + std::to_string(value);
    if (constant.bytes > largest_constant)
        refuse(constant.name, std::to_string(constant.bytes) + " bytes; make it a buffer of the module");
    if (!has_data(tensor)) refuse(constant.name, "its values are not known to a capture from shapes");
    const at::Tensor bytes = bytes_of(tensor);
    const at::Tensor host = device_.profile_if_absent() && has_values_on_host(tensor)
                                ? tensor_on(relabelled(tensor.storage(), c10::DeviceType::CPU), bytes)
                                : bytes.cpu();
    constant.contents.assign(static_cast<const char*>(host.const_data_ptr()),
                             static_cast<std::size_t>(constant.bytes));
}

int Recorder::operand_of(const at::Tensor& tensor) {
    return tensor.defined() ? operand_of(tensor, value_of(tensor)) : no_operand;
}

int Recorder::operand_of(const at::Tensor& tensor, int value) {
    const Place* place = value < 0 ? nullptr : place_of(tensor);
    const std::int64_t base = place ? place->base : 0,
                       item = static_cast<std::int64_t>(tensor.element_size());
    if (base % item != 0 || tensor.storage_offset() * item < base)
        refuse(recording_.values[value].name, "the program looks at its memory beyond what it was given");
    Operand operand{.tensor = TensorId(value),
                    .dtype = tensor.scalar_type(),
                    .sizes = tensor.sizes().vec(),
                    .strides = tensor.strides().vec(),
                    .offset = tensor.storage_offset() - base / item,
                    .wrapped_number = tensor.unsafeGetTensorImpl()->is_wrapped_number(),
                    .conjugated = tensor.is_conj(),
                    .negated = tensor.is_neg(),
                    .on_host = tensor.device().is_cpu() && !device_.device().is_cpu()};
    std::string key;
    const auto append = [&key](std::int64_t number) {
        key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    append(value), append(static_cast<int>(operand.dtype)), append(operand.offset),
        append(operand.wrapped_number), append(operand.on_host), append(operand.conjugated),
        append(operand.negated);
    for (std::int64_t size : operand.sizes) append(size);
    for (std::int64_t stride : operand.strides) append(stride);
    const auto [entry, fresh] =
        operand_index_.try_emplace(std::move(key), static_cast<int>(recording_.operands.size()));
    if (fresh) recording_.operands.push_back(std::move(operand));
    return entry->second;
}

/// Returns the origin of the op that is being recorded; for a backward op, the origin of its forward op.
Recorder::Origin Recorder::origin() const {
    if (phase_ != Phase::backward) return {-1, source_.module().path, source_.line()};
    const auto node = torch::autograd::get_current_node();
    auto after = node ? by_sequence_.upper_bound(node->sequence_nr() + 1) : by_sequence_.begin();
    return after == by_sequence_.begin() ? Origin{-1, last_backward_module_, {}} : (--after)->second;
}

std::string Recorder::refusal_at(const std::string& op, const std::string& why) const {
    const Origin at = origin();
    return op + (phase_ == Phase::backward ? " in the backward pass" : "") +
           (at.module.empty() ? "" : (phase_ == Phase::backward ? " of " : " in ") + at.module) +
           (at.line.empty() ? "" : " at " + at.line) + ": " + why;
}

void Recorder::refuse(const std::string& op, const std::string& why) {
    if (!refusal_) refusal_ = refusal_at(op, why);
    if (options_.in_process && !options_.run_kernel) throw Refused{};
    TORCH_CHECK(false, *refusal_);
}

void Recorder::is_traced(const c10::OperatorHandle& op) {
    if (options_.in_process)
        refuse_step(op.schema().name() +
                    " runs on fake tensors within the step (FakeTensorMode), as torch.compile does while it "
                    "traces: what "
                    "a compiled program computes is not seen");
}

void Recorder::refuse_step(const std::string& why) {
    std::lock_guard lock(mutex_);
    if (!refusal_) refusal_ = why;
}

bool Recorder::depends_on_data(const at::Tensor& tensor) const {
    const Place* place = tensor.has_storage() ? place_of(tensor) : nullptr;
    return place && recording_.values[place->value].depends_on_data;
}

/// Says whether the program has moved the generator since the step's last random op. If other threads have
/// run ops, any of them may have moved the generator, and the answer is no.
bool Recorder::is_moved(std::uint64_t now) {
    if (!generator_ || *generator_ == now) return false;
    generator_was_moved_ = true;
    return !options_.others_run || !options_.others_run();
}

void Recorder::check_generator() {
    if (options_.in_process && is_moved(device_.generator_state()->digest()))
        refuse_step("the program sets the state of the random number generator: seed outside of the step");
}

/// `outputs`: operand numbers of the outputs to which `gradients` belong, one for each gradient.
void Recorder::note_gradients_given(std::vector<int> outputs, const std::vector<at::Tensor>& gradients) {
    RecordedOp record{.tape =
                          {
                              .name = std::string(output_gradients_op),
                          },
                      .phase = Phase::loss};
    Argument from{Argument::Kind::tensors, {}, std::move(outputs)}, to{Argument::Kind::tensors, {}, {}};
    const int index = static_cast<int>(recording_.ops.size());
    for (const at::Tensor& gradient : gradients) {
        record.tape.returns.emplace_back(
            new_value(gradient, {.kind = TensorKind::gradient, .producer = index, .depends_on_data = true}));
        to.operands.push_back(operand_of(gradient));
    }
    record.tape.arguments = {std::move(from), std::move(to)};
    recording_.ops.push_back(std::move(record));
}

void Recorder::note_outputs(const std::vector<at::Tensor>& outputs) {
    std::lock_guard lock(mutex_);
    if (refusal_) return;
    try {
        for (const at::Tensor& output : outputs) recording_.outputs.push_back(operand_of(output));
    } catch (const Refused&) {
    }
}

void Recorder::begin_backward(const std::vector<int>& outputs, const std::vector<at::Tensor>& gradients) {
    std::lock_guard lock(mutex_);
    phase_ = Phase::backward;
    if (refusal_) return;
    if (options_.in_process) generator_ = device_.generator_state()->digest();
    try {
        std::vector<int> operands;
        for (int place : outputs) operands.push_back(recording_.outputs[static_cast<std::size_t>(place)]);
        if (!options_.run_kernel) note_outputs_held();
        note_gradients_given(std::move(operands), gradients);
    } catch (const Refused&) {
    }
}

/// Notes which outputs are still held. Must not be called if shape functions run in place of kernels, because
/// the caller never gets the outputs that shape functions make.
void Recorder::note_outputs_held() {
    std::set<int> alive;
    for (const auto& [storage, place] : places_)
        if (!place.storage.expired()) alive.insert(place.value);
    for (const int operand : recording_.outputs)
        recording_.outputs_held.push_back(operand == no_operand ||
                                          alive.contains(recording_.operands[operand].tensor.value));
}

std::int64_t Recorder::released_bytes() const {
    std::set<int> released;
    for (std::size_t i = 0; i < recording_.outputs_held.size(); ++i)
        if (!recording_.outputs_held[i])
            released.insert(recording_.operands[recording_.outputs[i]].tensor.value);
    std::int64_t bytes = 0;
    for (const int value : released) bytes += device_.footprint(recording_.values[value].bytes);
    return bytes;
}

StepObserver Recorder::observer() {
    return {.loss_begins = [this] { phase_ = Phase::loss; },
            .backward_begins = [this] { phase_ = Phase::backward; },
            .gradients_given =
                [this](const auto& outputs, const auto& gradients) {
                    std::vector<int> operands;
                    for (const at::Tensor& output : outputs) operands.push_back(operand_of(output));
                    note_gradients_given(std::move(operands), gradients);
                }};
}

/// Adds at the end of the step an op that copies the operand. Returns the copy's operand.
int Recorder::copied(int original) {
    const Operand from = recording_.operands[original];
    std::int64_t elements = 1;
    for (std::int64_t size : from.sizes) elements *= size;
    Operand to{.dtype = from.dtype, .sizes = from.sizes, .strides = from.sizes, .on_host = from.on_host};
    std::int64_t stride = 1;
    for (std::size_t axis = to.sizes.size(); axis-- > 0; stride *= std::max<std::int64_t>(to.sizes[axis], 1))
        to.strides[axis] = stride;
    const int op = static_cast<int>(recording_.ops.size());
    recording_.values.push_back({.kind = TensorKind::gradient,
                                 .bytes = elements * static_cast<std::int64_t>(c10::elementSize(from.dtype)),
                                 .producer = op,
                                 .depends_on_data = true});
    to.tensor = TensorId(recording_.values.size() - 1);
    RecordedOp copy{
        .tape = {.name = "aten::clone"}, .phase = Phase::backward, .module = last_backward_module_};
    copy.tape.arguments = {
        {Argument::Kind::tensor, {}, {original}},
        {Argument::Kind::value, static_cast<std::int64_t>(c10::MemoryFormat::Contiguous), {}}};
    copy.tape.returns = {to.tensor};
    recording_.ops.push_back(std::move(copy));
    recording_.operands.push_back(std::move(to));
    return static_cast<int>(recording_.operands.size()) - 1;
}

Recording Recorder::finish(const std::vector<GradientMade>& gradients) {
    std::lock_guard lock(mutex_);
    if (refusal_) return {};
    try {
        for (const auto& [name, tensor] : named_) {
            const Place* place = place_of(tensor);
            if (!place || recording_.values[place->value].name.rfind("constant", 0) == 0)
                refuse(name, "the step gives it other memory");
        }
        for (const RecordedOp& op : recording_.ops)
            if (!groups_.empty() && (op.tape.guard || op.guards_sizes))
                refuse(
                    op.tape.name,
                    "the program reads the value of a tensor in a step that exchanges data with other ranks, "
                    "whose courses may then differ: compute with the tensor itself (torch.where)");
        std::set<int> taken;
        for (int output : recording_.outputs)
            if (output != no_operand) taken.insert(recording_.operands[output].tensor.value);
        for (const GradientMade& made : gradients) {
            int operand = operand_of(made.gradient);
            if (options_.in_process && operand != no_operand) {
                const int value = value_of(made.gradient);
                const int producer = recording_.values[value].producer;
                const bool own = producer >= 0 && recording_.ops[producer].tape.name != output_gradients_op;
                if (!taken.insert(value).second || !own) operand = copied(operand);
            }
            recording_.gradients.push_back({made.parameter, operand, made.input});
        }
    } catch (const Refused&) {
        return {};
    }
    if (options_.in_process) return recording_;  // a copy, because `survivors` still needs the recording
    return std::move(recording_);
}

std::vector<std::string> Recorder::survivors() const {
    std::set<int> handed_out;
    const auto add = [&](int operand) {
        if (operand != no_operand) handed_out.insert(recording_.operands[operand].tensor.value);
    };
    for (int operand : recording_.outputs) add(operand);
    for (const GradientOf& gradient : recording_.gradients) add(gradient.operand);
    std::vector<std::string> alive;
    for (const auto& [storage, place] : places_) {
        const RecordedValue& value = recording_.values[place.value];
        if (place.storage.expired() || value.producer < 0 || handed_out.contains(place.value)) continue;
        if (recording_.ops[value.producer].tape.name == output_gradients_op) continue;
        int root = place.value;
        while (recording_.values[root].version_of >= 0) root = recording_.values[root].version_of;
        if (recording_.values[root].producer < 0)
            continue;  // the value is in the memory of a parameter, a buffer or an input
        if (may_be_cached_cast(value)) continue;
        const RecordedOp& op = recording_.ops[value.producer];
        alive.push_back(op.tape.name + " in " + (op.module.empty() ? "the module itself" : op.module));
    }
    return alive;
}

}  // namespace rematlas
