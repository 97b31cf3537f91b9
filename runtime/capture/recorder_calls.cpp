#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cstring>

#include "runtime/allocator/counting_allocator.h"
#include "runtime/capture/op_traits.h"
#include "runtime/capture/recorder.h"
#include "runtime/device/collective_call.h"
#include "runtime/dispatch/collectives.h"
#include "runtime/dispatch/stack_tensors.h"
#include "runtime/shapes/shape_tensor.h"

namespace rematlas {
namespace {

/// Returns true if the op returns a number to the host; the program may branch on it.
bool gives_a_number(const c10::FunctionSchema& schema) {
    if (schema.returns().size() != 1) return false;
    const c10::TypeKind kind = schema.returns()[0].type()->kind();
    return kind == c10::TypeKind::NumberType || kind == c10::TypeKind::BoolType ||
           kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType;
}

/// Returns true for attention without dropout, which is tagged as random but draws no numbers.
bool drops_nothing(const c10::FunctionSchema& schema, const TapeOp& op) {
    for (std::size_t i = 0; i < op.arguments.size(); ++i)
        if (schema.arguments()[i].name() == "dropout_p" && op.arguments[i].value.isDouble())
            return op.arguments[i].value.toDouble() == 0.0;
    return false;
}

bool is_dense(const at::Tensor& tensor) {
    return tensor.has_storage() && !tensor.is_nested();
}

/// Returns a digest: the sum of the storage's words, read as integers, so that the order in which the device
/// adds them does not matter. A change that keeps the sum is not noticed.
std::uint64_t digest_on_device(const at::Tensor& tensor) {
    constexpr std::int64_t word = sizeof(std::int64_t), step = 1;
    const auto sum = [&](std::int64_t begin, std::int64_t count, c10::ScalarType type) {
        if (count == 0) return std::int64_t{0};
        const at::Tensor part = at::detail::make_tensor<c10::TensorImpl>(
            c10::Storage(tensor.storage()), c10::DispatchKeySet(c10::DispatchKey::CUDA),
            c10::scalarTypeToTypeMeta(type));
        part.unsafeGetTensorImpl()->set_sizes_and_strides(c10::IntArrayRef(&count, 1),
                                                          c10::IntArrayRef(&step, 1), begin);
        return at::sum(part, c10::ScalarType::Long).item().toLong();
    };
    const auto bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
    const std::int64_t words = bytes / word;
    return static_cast<std::uint64_t>(sum(0, words, c10::ScalarType::Long)) * 0x9e3779b97f4a7c15u +
           static_cast<std::uint64_t>(sum(words * word, bytes % word, c10::ScalarType::Byte));
}

}  // namespace

std::vector<Recorder::Use> Recorder::uses_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                                             RecordedOp& record) {
    const auto& arguments = op.schema().arguments();
    const std::size_t base = stack.size() - arguments.size();
    std::vector<Use> uses;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (stack[base + i].isGenerator())
            refuse(record.tape.name, "draws from a generator of its own: leave generator= out");
        if (ignores_contents(record.tape.name, i, stack, base)) continue;
        const HiddenWrite hidden = hidden_write(record.tape.name, i, stack, base);
        const bool written =
            hidden != HiddenWrite::none || (i == 0 && writes_to_first_argument(record.tape.name)) ||
            (arguments[i].alias_info() && arguments[i].alias_info()->isWrite() && !changes_only_geometry(op));
        for_each_tensor(stack[base + i], [&](const at::Tensor& tensor) {
            if (!tensor.defined()) return;
            if (!is_dense(tensor))
                refuse(record.tape.name, "a sparse, nested or opaque tensor: give a dense one");
            // A rerun gets no running statistics. The kernel then takes the type of the tensors that it saves
            // from another argument. If no other argument has the type of the statistics, the op cannot run
            // again.
            if (hidden == HiddenWrite::statistics)
                record.updates_statistics = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
                    return !use.written && use.tensor.scalar_type() == tensor.scalar_type();
                });
            const bool digested = options_.audit && !written && has_data(tensor);
            const int value = value_of(tensor);
            uses.push_back(
                {i, tensor, value, written, tensor.storage().nbytes(), digested ? digest(tensor) : 0});
        });
    }
    return uses;
}

/// Constructors of tensors call `empty` and then write to the tensor without calling the dispatcher. So the
/// result of `empty` becomes a constant, unless the first op that uses it overwrites all of it. With
/// `in_process` it becomes a constant only if, in addition, the pattern that `poison` wrote has changed.
void Recorder::settle_uninitialized(const RecordedOp& record, const std::vector<Use>& uses) {
    for (const Use& use : uses) {
        RecordedValue& value = recording_.values[use.value];
        if (value.producer < 0 || value.version_of >= 0) continue;
        RecordedOp& producer = recording_.ops[value.producer];
        if (!makes_uninitialized(producer.tape.name)) continue;
        const bool filled = poisoned_.contains(use.value) && has_data(use.tensor) &&
                            poisoned_.at(use.value) != digest(use.tensor);
        if (options_.in_process && !filled) continue;
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

/// Says whether the number that the op returns can become a guard. With `in_process` every number can.
/// Otherwise only numbers of the backward can. Gradient formulas read values only to choose between forms of
/// the same result (for example, whether any factor of a product is zero). The model's own program reads
/// values to decide what to compute.
bool Recorder::may_be_guarded(const c10::OperatorHandle& op, const RecordedOp& record) const {
    return (options_.in_process || record.phase == Phase::backward) && gives_a_number(op.schema());
}

void Recorder::refuse_unreplayable(const c10::OperatorHandle& op, RecordedOp& record,
                                   const std::vector<Use>& uses) {
    if (!depends_on_data(uses)) return;
    if (op.hasTag(at::Tag::data_dependent_output) && !may_be_guarded(op, record)) {
        refuse(
            record.tape.name,
            "the program reads the value of a tensor, so its course may depend on the data: compute with the "
            "tensor itself (torch.where)");
    }
    const bool mask = std::any_of(uses.begin(), uses.end(), [](const Use& use) {
        return use.argument > 0 && (use.tensor.scalar_type() == c10::ScalarType::Bool ||
                                    use.tensor.scalar_type() == c10::ScalarType::Byte);
    });
    if (shape_depends_on_values(record.tape.name) || (mask && record.tape.name == "aten::index")) {
        if (!options_.in_process)
            refuse(record.tape.name,
                   "the shape of its result depends on the data: keep the shape (torch.where)");
        record.guards_sizes = true;
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
        if (!options_.audit || use.written || !has_data(use.tensor)) continue;
        const bool declared = std::any_of(uses.begin(), uses.end(), [&](const Use& other) {
            return other.written && other.value == use.value;
        });
        if (!declared && digest(use.tensor) != use.digest) {
            refuse(record.tape.name, "writes to its argument " + std::to_string(use.argument) +
                                         " without declaring it: name it in mutates_args");
        }
    }
}

/// Refuses a result that uses the memory of an argument through a storage of its own, because replay could
/// not know how long that memory must live.
void Recorder::refuse_shared_memory(const RecordedOp& record, const std::vector<Use>& uses,
                                    const at::Tensor& made) {
    const auto* begin = static_cast<const char*>(made.storage().data());
    if (!begin) return;
    for (const Use& use : uses) {
        const auto* memory = static_cast<const char*>(use.tensor.storage().data());
        if (begin < memory + use.tensor.storage().nbytes() && memory < begin + made.storage().nbytes()) {
            refuse(record.tape.name, "returns memory of its argument " + std::to_string(use.argument) +
                                         " without declaring it: return a clone");
        }
    }
}

/// Notes new versions and new values. Returns false if the op made neither, because it makes a view or only
/// asks for metadata.
bool Recorder::note_results(const torch::jit::Stack& stack, std::size_t returns, const std::vector<Use>& uses,
                            RecordedOp& record) {
    const int index = static_cast<int>(recording_.ops.size());
    const TensorKind kind = record.phase == Phase::forward ? TensorKind::activation : TensorKind::gradient;
    bool depends_on_data = record.random, made = false;
    for (const Use& use : uses)
        depends_on_data = depends_on_data || recording_.values[use.value].depends_on_data;

    for (const Use& use : uses) {
        if (!use.written || value_of(use.tensor) != use.value)
            continue;  // the tensor was passed twice, and its overwrite is noted already
        const int after = new_value(
            use.tensor,
            {.kind = kind, .producer = index, .version_of = use.value, .depends_on_data = depends_on_data});
        record.tape.overwrites.push_back({TensorId(use.value), TensorId(after)});
        made = true;
    }
    for (std::size_t i = stack.size() - returns; i < stack.size(); ++i) {
        for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
            if (tensor.defined() && !is_dense(tensor))
                refuse(record.tape.name, "makes a sparse, nested or opaque tensor: plans take dense ones");
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

/// Finds the module of an op. A forward op belongs to the module that runs now. A backward op belongs to the
/// module of its forward op, which is found by autograd's sequence numbers. `vanished`: the op itself is not
/// recorded.
void Recorder::attribute(RecordedOp& record, bool vanished) {
    const int index = vanished ? -1 : static_cast<int>(recording_.ops.size());
    if (record.phase != Phase::backward) {
        ModuleName module = source_.module();
        if (!vanished && !module.class_name.empty())
            recording_.module_classes.try_emplace(module.path, std::move(module.class_name));
        record.module = std::move(module.path);
        record.source = source_.line();
        by_sequence_.try_emplace(at::sequence_number::peek(), Origin{index, record.module, record.source});
        return;
    }
    const auto node = torch::autograd::get_current_node();
    if (node) {
        auto origin = by_sequence_.upper_bound(node->sequence_nr() + 1);
        if (origin != by_sequence_.begin()) {
            last_backward_module_ = (--origin)->second.module;
            record.source = origin->second.line;
            while (origin->second.op < 0 && origin != by_sequence_.begin()) --origin;
            record.of = origin->second.op;
        }
    }
    record.module = last_backward_module_;
}

std::uint64_t Recorder::digest(const at::Tensor& tensor) const {
    if (!tensor.device().is_cpu()) return digest_on_device(tensor);
    const Place* place = place_of(tensor);
    const auto* data = static_cast<const unsigned char*>(tensor.storage().data());
    return place ? digest_of(data + place->base, static_cast<std::size_t>(place->bytes))
                 : digest_of(data, tensor.storage().nbytes());
}

/// Writes a pattern to a tensor that `empty` made. If the program writes to the tensor without calling the
/// dispatcher, the pattern changes, and the write is noticed.
void Recorder::poison(const at::Tensor& tensor) {
    if (!tensor.device().is_cpu() || tensor.storage().nbytes() == 0 || !has_data(tensor)) return;
    std::memset(tensor.storage().mutable_data(), 0x5b, tensor.storage().nbytes());
    poisoned_[value_of(tensor)] = digest(tensor);
}

/// Refuses a write to a tensor that is neither the step's own nor a parameter nor a buffer.
void Recorder::refuse_foreign_writes(const RecordedOp& record, const std::vector<Use>& uses) {
    for (const Use& use : uses) {
        if (!use.written) continue;
        const RecordedValue& value = recording_.values[use.value];
        int root = use.value;
        while (recording_.values[root].version_of >= 0) root = recording_.values[root].version_of;
        if (recording_.values[root].kind == TensorKind::input && recording_.values[root].producer < 0)
            refuse(record.tape.name,
                   "writes to " + recording_.values[root].name + " of the module: clone it first");
        if (value.producer < 0 && foreign_.contains(use.value))
            refuse(record.tape.name,
                   "writes to a tensor that is neither the step's nor a parameter nor a buffer: register it "
                   "as a buffer (register_buffer)");
    }
}

/// Refuses an op that changes the geometry of a tensor of the program, because a plan would not change it.
void Recorder::refuse_foreign_geometry(const RecordedOp& record, const Use& changed) {
    if (given_.contains(changed.tensor.unsafeGetTensorImpl()) || foreign_.contains(changed.value))
        refuse(record.tape.name,
               "changes the shape or the strides of a tensor that is not the step's: use the form of the op "
               "without the underscore, which returns a view");
}

/// Refuses the step if anything other than its random ops has moved the generator since the last random op.
void Recorder::follow_generator(const Call& call) {
    if (!options_.in_process || !call.generator || call.again) return;
    const std::uint64_t now = device_.generator_state()->digest();
    if (now == call.generator->digest()) return;  // this call drew no numbers
    draws_ = true;
    if (is_moved(call.generator->digest()))
        refuse(
            call.record.tape.name,
            "the program sets the state of the random number generator before it: seed outside of the step");
    generator_ = now;
}

void Recorder::before_kernel(const c10::OperatorHandle& op, const torch::jit::Stack& stack, Call& call) {
    const auto& schema = op.schema();
    RecordedOp& record = call.record;
    record.tape.name = schema.name();
    record.tape.overload = schema.overload_name();
    record.tape.grad_mode = at::GradMode::is_enabled();
    record.phase = phase_;
    record.random = op.hasTag(at::Tag::nondeterministic_seeded);
    call.uses = uses_of(op, stack, record);
    const bool only_looks = makes_views(schema) || changes_only_geometry(op);
    if (!only_looks) settle_uninitialized(record, call.uses);
    refuse_unreplayable(op, record, call.uses);
    if (options_.in_process) refuse_foreign_writes(record, call.uses);
    if (options_.in_process && changes_only_geometry(op) && !call.uses.empty())
        refuse_foreign_geometry(record, call.uses.front());
    const std::size_t base = stack.size() - schema.arguments().size();
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
        record.tape.arguments.push_back(
            argument_of(stack[base + i], ignores_contents(record.tape.name, i, stack, base)));
    }
    name_group(record);
    if (record.random && (options_.in_process || !options_.run_kernel))
        call.generator = device_.generator_state();
    if (options_.in_process && !only_looks && !makes_uninitialized(record.tape.name)) recognize(call);
}

void Recorder::run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    if (!options_.run_kernel) return run_kernel(op, keys, stack);
    if (const auto why_not = options_.run_kernel(op, keys, stack)) refuse(op.schema().name(), *why_not);
}

void Recorder::run_measured(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack,
                            RecordedOp& record) {
    if (!options_.in_process || options_.run_kernel) return run(op, keys, stack);
    const CountingAllocator::OwnPages own_pages(CountingAllocator::OwnPages::For::this_thread);
    const std::int64_t alive = memory_.alive_bytes(), began = device_.now();
    memory_.reset_peak();
    const auto call = is_collective(record.tape.name)
                          ? std::optional<CollectiveCall>(std::in_place, op, *stack)
                          : std::nullopt;
    run(op, keys, stack);
    if (call) call->wait(*stack);
    record.time = device_.now() - began;
    record.workspace = memory_.peak_bytes() - alive;
}

void Recorder::after_kernel(const c10::OperatorHandle& op, const torch::jit::Stack& stack, Call& call) {
    const auto& schema = op.schema();
    RecordedOp& record = call.record;
    if (call.generator) {
        if (options_.run_kernel && !drops_nothing(op.schema(), record.tape))
            // A new seed moves the generator, as the kernel's random numbers would have done.
            device_.seed_generator(call.generator->digest());
        else if (!options_.run_kernel && !(device_.device().is_cpu() && draws_by_values(record.tape.name)))
            record.tape.draws = call.generator->distance_to(*device_.generator_state());
        follow_generator(call);
    }
    if (op.hasTag(at::Tag::data_dependent_output) && may_be_guarded(op, record) && depends_on_data(call.uses))
        record.tape.guard = Guard{stack.back(), origin().line};
    if (record.guards_sizes)
        for (std::size_t i = stack.size() - schema.returns().size(); i < stack.size(); ++i)
            for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
                record.tape.result_sizes.push_back(tensor.defined() ? tensor.sizes().vec()
                                                                    : std::vector<std::int64_t>());
            });
    audit(record, call.uses);
    if (call.again && take_earlier_values(stack, schema.returns().size(), call)) {
        attribute(record, true);
        if (!record.updates_statistics) return;
    }
    if (options_.in_process && options_.run_kernel)
        for (std::size_t i = stack.size() - schema.returns().size(); i < stack.size(); ++i)
            for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
                record.tape.expected.push_back(
                    tensor.defined() ? Geometry{tensor.sizes().vec(), tensor.strides().vec()} : Geometry{});
            });
    const std::size_t values = recording_.values.size();
    const bool made = note_results(stack, schema.returns().size(), call.uses, record);
    const bool kept = made || record.tape.guard;
    attribute(record, !kept);
    if (!kept) return;
    for (std::size_t value = values; value < recording_.values.size(); ++value)
        if (recording_.values[value].version_of < 0) record.workspace -= recording_.values[value].bytes;
    record.workspace = std::max<std::int64_t>(record.workspace, 0);
    if (!call.computes.empty())
        computed_.try_emplace(std::move(call.computes), static_cast<int>(recording_.ops.size()));
    recording_.ops.push_back(std::move(record));
    if (options_.in_process && makes_uninitialized(schema.name()) && stack.back().isTensor())
        poison(stack.back().toTensor());
    if (options_.on_op) options_.on_op(static_cast<int>(recording_.ops.size()));
}

void Recorder::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    std::lock_guard lock(mutex_);
    if (is_collective(op.schema().name())) note_group(op, *stack);
    TORCH_CHECK(!refusal_ || !options_.run_kernel, *refusal_);
    if (options_.in_process && !options_.run_kernel && !refusal_) take_casts(op, *stack);
    observe(op, keys, stack);
}

void Recorder::observe(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    if (waits_for_collective(op.schema().name())) return wait(op, keys, stack);
    if (refusal_ && options_.in_process) return run(op, keys, stack);
    if (wraps_result(op.schema().name())) return run_kernel(op, keys, stack);  // never a shape function
    Call call;
    try {
        before_kernel(op, *stack, call);
    } catch (const Refused&) {
        return run(op, keys, stack);
    }
    run_measured(op, keys, stack, call.record);
    try {
        after_kernel(op, *stack, call);
    } catch (const Refused&) {
    }
}

}  // namespace rematlas
