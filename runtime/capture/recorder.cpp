#include "runtime/capture/recorder.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>

#include "runtime/capture/op_traits.h"
#include "runtime/meta/shape_tensor.h"

namespace rematlas {
namespace {

/// Constants travel inside the graph file.
constexpr std::int64_t largest_constant = std::int64_t{64} << 20;

/// The whole storage as a row of bytes.
at::Tensor bytes_of(const at::Tensor& tensor) {
    const c10::DispatchKeySet keys(tensor.device().is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA);
    at::Tensor bytes = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(tensor.storage()), keys, c10::scalarTypeToTypeMeta(c10::ScalarType::Byte));
    bytes.unsafeGetTensorImpl()->set_sizes_contiguous({static_cast<std::int64_t>(tensor.storage().nbytes())});
    return bytes;
}

template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit&& visit) {
    if (value.isTensor()) {
        visit(value.toTensor());
    } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
    } else if (value.isList()) {
        for (const c10::IValue& element : value.toListRef())
            if (element.isTensor()) visit(element.toTensor());
    }
}

/// Views read nothing of what they look at.
bool makes_views(const c10::FunctionSchema& schema) {
    const auto& returns = schema.returns();
    return !returns.empty() && std::all_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
        return result.alias_info() && !result.alias_info()->isWrite();
    });
}

/// The result is read on the host, which may decide by it.
bool gives_a_number(const c10::FunctionSchema& schema) {
    if (schema.returns().size() != 1) return false;
    const c10::TypeKind kind = schema.returns()[0].type()->kind();
    return kind == c10::TypeKind::NumberType || kind == c10::TypeKind::BoolType ||
           kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType;
}

}  // namespace

Recorder::Recorder(const Model& model, const std::vector<at::Tensor>& inputs,
                   const std::vector<InputSpec>& specs, DeviceRuntime& device, RecorderOptions options)
    : device_(device), options_(std::move(options)), paths_(model.module) {
    for (const NamedTensor& named : model.tensors) {
        resident(named.tensor, named.is_parameter ? TensorKind::parameter : TensorKind::buffer, named.name);
        recording_.bindings.push_back(
            {named.name, named.is_parameter, recording_.operands[operand_of(named.tensor)]});
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        resident(inputs[i], TensorKind::input, "input" + std::to_string(i));
        recording_.inputs.emplace_back(specs[i], operand_of(inputs[i]));
    }
}

int Recorder::new_value(const at::Tensor& tensor, RecordedValue value) {
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    value.bytes = static_cast<std::int64_t>(storage->nbytes());
    recording_.values.push_back(std::move(value));
    const int id = static_cast<int>(recording_.values.size()) - 1;
    places_.insert_or_assign(
        storage, Place{c10::weak_intrusive_ptr<c10::StorageImpl>(tensor.storage().getWeakStorageImpl()), id});
    return id;
}

int Recorder::resident(const at::Tensor& tensor, TensorKind kind, const std::string& name) {
    if (is_known(tensor)) return value_of(tensor);
    return new_value(tensor, {.kind = kind, .name = name, .depends_on_data = true});
}

bool Recorder::is_known(const at::Tensor& tensor) const {
    const auto found = places_.find(tensor.storage().unsafeGetStorageImpl());
    return found != places_.end() && !found->second.storage.expired();
}

/// The current version of a tensor's storage; a tensor seen for the first time is a constant.
int Recorder::value_of(const at::Tensor& tensor) {
    if (is_known(tensor)) return places_.at(tensor.storage().unsafeGetStorageImpl()).value;
    const int value = new_value(tensor, {.kind = TensorKind::constant, .name = "constant"});
    snapshot(value, tensor);
    return value;
}

void Recorder::snapshot(int value, const at::Tensor& tensor) {
    RecordedValue& constant = recording_.values[value];
    constant.kind = TensorKind::constant;
    constant.name = "constant" + std::to_string(value);
    if (constant.bytes > largest_constant)
        refuse(constant.name, std::to_string(constant.bytes) + " bytes; make it a buffer of the module");
    if (!has_data(tensor)) refuse(constant.name, "its values are not known to a capture from shapes");
    const at::Tensor host = bytes_of(tensor).cpu();
    constant.contents.assign(static_cast<const char*>(host.const_data_ptr()),
                             static_cast<std::size_t>(constant.bytes));
}

int Recorder::operand_of(const at::Tensor& tensor) {
    return tensor.defined() ? operand_of(tensor, value_of(tensor)) : no_operand;
}

int Recorder::operand_of(const at::Tensor& tensor, int value) {
    Operand operand{.tensor = TensorId(value),
                    .dtype = tensor.scalar_type(),
                    .sizes = tensor.sizes().vec(),
                    .strides = tensor.strides().vec(),
                    .offset = tensor.storage_offset(),
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

/// Of the op that is being recorded; of a backward op, where its forward op is.
Recorder::Origin Recorder::origin() const {
    if (phase_ != Phase::backward) return {-1, paths_.current(), current_source_line()};
    const auto node = torch::autograd::get_current_node();
    auto after = node ? by_sequence_.upper_bound(node->sequence_nr() + 1) : by_sequence_.begin();
    return after == by_sequence_.begin() ? Origin{-1, last_backward_module_, {}} : (--after)->second;
}

void Recorder::refuse(const std::string& op, const std::string& why) {
    if (!refusal_) {
        const Origin at = origin();
        refusal_ = op + (phase_ == Phase::backward ? " in the backward pass" : "") +
                   (at.module.empty() ? "" : (phase_ == Phase::backward ? " of " : " in ") + at.module) +
                   (at.line.empty() ? "" : " at " + at.line) + ": " + why;
    }
    TORCH_CHECK(false, *refusal_);
}

std::vector<Recorder::Use> Recorder::uses_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                                             RecordedOp& record) {
    const auto& arguments = op.schema().arguments();
    const std::size_t base = stack.size() - arguments.size();
    std::vector<Use> uses;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (stack[base + i].isGenerator()) refuse(record.tape.name, "draws from a generator of its own");
        if (ignores_contents(record.tape.name, i, stack, base)) continue;
        const HiddenWrite hidden = hidden_write(record.tape.name, i, stack, base);
        const bool written = hidden != HiddenWrite::none ||
                             (arguments[i].alias_info() && arguments[i].alias_info()->isWrite());
        for_each_tensor(stack[base + i], [&](const at::Tensor& tensor) {
            if (!tensor.defined()) return;
            if (!tensor.has_storage()) refuse(record.tape.name, "a sparse or opaque tensor");
            // Where the statistics alone settle the type of what the kernel keeps, no run can go without
            // them.
            if (hidden == HiddenWrite::statistics)
                record.updates_statistics = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
                    return !use.written && use.tensor.scalar_type() == tensor.scalar_type();
                });
            const bool digested = options_.audit && !written && tensor.device().is_cpu();
            uses.push_back({i, tensor, value_of(tensor), written, tensor.storage().nbytes(),
                            digested ? digest_of(tensor.storage()) : 0});
        });
    }
    return uses;
}

/// TorchScript's tensor constructors write behind the dispatcher after `empty`: what is read of such a tensor
/// before an op wrote all of it is a constant.
void Recorder::settle_uninitialized(const RecordedOp& record, const std::vector<Use>& uses) {
    for (const Use& use : uses) {
        RecordedValue& value = recording_.values[use.value];
        if (value.producer < 0 || value.version_of >= 0) continue;
        RecordedOp& producer = recording_.ops[value.producer];
        if (!makes_uninitialized(producer.tape.name)) continue;
        if (use.written && overwrites_everything(record.tape.name, record.tape.overload)) continue;
        producer.dropped = true;
        value.producer = -1;
        value.depends_on_data = false;
        snapshot(use.value, use.tensor);
    }
}

bool Recorder::depends_on_data(const std::vector<Use>& uses) const {
    return std::any_of(uses.begin(), uses.end(),
                       [&](const Use& use) { return recording_.values[use.value].depends_on_data; });
}

/// Formulas of gradients read values to choose between forms of the same result (whether any factor of a
/// product is zero); the model's own program reads them to decide what to compute.
bool Recorder::may_be_guarded(const c10::OperatorHandle& op, const RecordedOp& record) {
    return record.phase == Phase::backward && gives_a_number(op.schema());
}

void Recorder::refuse_unreplayable(const c10::OperatorHandle& op, const RecordedOp& record,
                                   const std::vector<Use>& uses) {
    if (!depends_on_data(uses)) return;
    if (op.hasTag(at::Tag::data_dependent_output) && !may_be_guarded(op, record)) {
        refuse(record.tape.name,
               "the program reads the value of a tensor, so its course may depend on the data");
    }
    const bool mask = std::any_of(uses.begin(), uses.end(), [](const Use& use) {
        return use.argument > 0 && (use.tensor.scalar_type() == c10::ScalarType::Bool ||
                                    use.tensor.scalar_type() == c10::ScalarType::Byte);
    });
    if (shape_depends_on_values(record.tape.name) || (mask && record.tape.name == "aten::index")) {
        refuse(record.tape.name, "the shape of its result depends on the data");
    }
}

Argument Recorder::argument_of(const c10::IValue& value, bool shape_only) {
    if (shape_only && value.isTensor() && value.toTensor().defined())
        return {Argument::Kind::tensor, {}, {operand_of(value.toTensor(), -1)}};
    if (value.isTensor()) return {Argument::Kind::tensor, {}, {operand_of(value.toTensor())}};
    if (!value.isList()) return {Argument::Kind::value, value, {}};

    const auto items = value.toListRef();
    const bool tensors = value.isTensorList();
    if (!tensors &&
        std::none_of(items.begin(), items.end(), [](const c10::IValue& item) { return item.isTensor(); })) {
        return {Argument::Kind::value, value.deepcopy(), {}};
    }
    Argument argument{tensors ? Argument::Kind::tensors : Argument::Kind::optional_tensors, {}, {}};
    for (const c10::IValue& item : items)
        argument.operands.push_back(item.isTensor() ? operand_of(item.toTensor()) : no_operand);
    return argument;
}

void Recorder::audit(const RecordedOp& record, const std::vector<Use>& uses) {
    for (const Use& use : uses) {
        if (use.tensor.storage().nbytes() != use.bytes)
            refuse(record.tape.name, "changes the size of a tensor's storage");
        if (!options_.audit || use.written || !use.tensor.device().is_cpu()) continue;
        const bool declared = std::any_of(uses.begin(), uses.end(), [&](const Use& other) {
            return other.written && other.value == use.value;
        });
        if (!declared && digest_of(use.tensor.storage()) != use.digest) {
            refuse(record.tape.name,
                   "writes to its argument " + std::to_string(use.argument) + " without declaring it");
        }
    }
}

/// Another storage on the memory of an argument: replay could not know how long that must live.
void Recorder::refuse_shared_memory(const RecordedOp& record, const std::vector<Use>& uses,
                                    const at::Tensor& made) {
    const auto* begin = static_cast<const char*>(made.storage().data());
    if (!begin) return;
    for (const Use& use : uses) {
        const auto* memory = static_cast<const char*>(use.tensor.storage().data());
        if (begin < memory + use.tensor.storage().nbytes() && memory < begin + made.storage().nbytes()) {
            refuse(record.tape.name, "returns memory of its argument " + std::to_string(use.argument) +
                                         " without declaring it");
        }
    }
}

/// New versions and new values. False when the op made neither: a view, or a question about metadata.
bool Recorder::note_results(const torch::jit::Stack& stack, std::size_t returns, const std::vector<Use>& uses,
                            RecordedOp& record) {
    const int index = static_cast<int>(recording_.ops.size());
    const TensorKind kind = record.phase == Phase::forward ? TensorKind::activation : TensorKind::gradient;
    bool depends_on_data = record.random, made = false;
    for (const Use& use : uses)
        depends_on_data = depends_on_data || recording_.values[use.value].depends_on_data;

    for (const Use& use : uses) {
        if (!use.written || value_of(use.tensor) != use.value)
            continue;  // the second name of what was just overwritten
        const int after = new_value(
            use.tensor,
            {.kind = kind, .producer = index, .version_of = use.value, .depends_on_data = depends_on_data});
        record.tape.overwrites.push_back({TensorId(use.value), TensorId(after)});
        made = true;
    }
    for (std::size_t i = stack.size() - returns; i < stack.size(); ++i) {
        for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
            if (tensor.defined() && !tensor.has_storage())
                refuse(record.tape.name, "makes a sparse or opaque tensor");
            const bool fresh = tensor.defined() && !is_known(tensor);
            if (fresh && !options_.run_kernel) refuse_shared_memory(record, uses, tensor);
            record.tape.returns.emplace_back(
                fresh
                    ? new_value(tensor, {.kind = kind, .producer = index, .depends_on_data = depends_on_data})
                    : -1);
            made = made || fresh;
        });
    }
    return made;
}

/// Forward ops know their module from the interpreter; backward ones find their forward op by autograd's
/// sequence numbers.
void Recorder::attribute(RecordedOp& record, bool vanished) {
    const int index = vanished ? -1 : static_cast<int>(recording_.ops.size());
    if (record.phase != Phase::backward) {
        record.module = paths_.current();
        by_sequence_.try_emplace(at::sequence_number::peek(),
                                 Origin{index, record.module, current_source_line()});
        return;
    }
    const auto node = torch::autograd::get_current_node();
    if (node) {
        auto origin = by_sequence_.upper_bound(node->sequence_nr() + 1);
        if (origin != by_sequence_.begin()) {
            last_backward_module_ = (--origin)->second.module;
            while (origin->second.op < 0 && origin != by_sequence_.begin()) --origin;
            record.of = origin->second.op;
        }
    }
    record.module = last_backward_module_;
}

void Recorder::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    std::lock_guard lock(mutex_);
    const auto& schema = op.schema();
    RecordedOp record{.tape = {.name = schema.name(),
                               .overload = schema.overload_name(),
                               .grad_mode = at::GradMode::is_enabled()},
                      .phase = phase_,
                      .module = {},
                      .random = op.hasTag(at::Tag::nondeterministic_seeded)};
    const std::vector<Use> uses = uses_of(op, *stack, record);
    if (!makes_views(schema)) settle_uninitialized(record, uses);
    refuse_unreplayable(op, record, uses);
    const std::size_t base = stack->size() - schema.arguments().size();
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
        record.tape.arguments.push_back(
            argument_of((*stack)[base + i], ignores_contents(record.tape.name, i, *stack, base)));
    }

    const auto generator = record.random && !options_.run_kernel ? device_.generator_state() : nullptr;
    if (!options_.run_kernel) {
        run_kernel(op, keys, stack);
    } else if (const auto why_not = options_.run_kernel(op, keys, stack)) {
        refuse(record.tape.name, *why_not);
    }
    if (generator) record.tape.draws = generator->distance_to(*device_.generator_state());

    if (op.hasTag(at::Tag::data_dependent_output) && may_be_guarded(op, record) && depends_on_data(uses))
        record.tape.guard = Guard{stack->back(), origin().line};
    audit(record, uses);
    const bool made = note_results(*stack, schema.returns().size(), uses, record);
    const bool kept = made || record.tape.guard;
    attribute(record, !kept);
    if (!kept) return;
    recording_.ops.push_back(std::move(record));
    if (options_.on_op) options_.on_op(static_cast<int>(recording_.ops.size()));
}

void Recorder::note_gradients_given(const std::vector<at::Tensor>& outputs,
                                    const std::vector<at::Tensor>& gradients) {
    RecordedOp record{.tape =
                          {
                              .name = std::string(output_gradients_op),
                          },
                      .phase = Phase::loss};
    Argument from{Argument::Kind::tensors, {}, {}}, to = from;
    const int index = static_cast<int>(recording_.ops.size());
    for (const at::Tensor& output : outputs) from.operands.push_back(operand_of(output));
    for (const at::Tensor& gradient : gradients) {
        record.tape.returns.emplace_back(
            new_value(gradient, {.kind = TensorKind::gradient, .producer = index, .depends_on_data = true}));
        to.operands.push_back(operand_of(gradient));
    }
    record.tape.arguments = {std::move(from), std::move(to)};
    recording_.ops.push_back(std::move(record));
}

StepObserver Recorder::observer() {
    return {.loss_begins = [this] { phase_ = Phase::loss; },
            .backward_begins = [this] { phase_ = Phase::backward; },
            .gradients_given = [this](const auto& outputs,
                                      const auto& gradients) { note_gradients_given(outputs, gradients); }};
}

Recording Recorder::finish(const Model& model, const StepResult& result) {
    for (const at::Tensor& output : result.outputs) recording_.outputs.push_back(operand_of(output));
    const std::vector<NamedTensor> trained = model.trained();
    for (std::size_t i = 0; i < trained.size(); ++i) {
        recording_.gradients.push_back({trained[i].name, operand_of(result.gradients[i])});
    }
    return std::move(recording_);
}

}  // namespace rematlas
