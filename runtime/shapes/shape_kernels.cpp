#include "runtime/shapes/shape_kernels.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>

#include "runtime/dispatch/stack_tensors.h"
#include "runtime/shapes/meta_kernels.h"
#include "runtime/shapes/shape_tensor.h"
#include "runtime/torch_versions/own_key.h"

namespace rematlas {
namespace {

/// Tensors of at most this many bytes keep their data.
constexpr std::size_t largest_known = std::size_t{1} << 20;

template <class Visit>
void for_each_defined(const c10::IValue& value, Visit&& visit) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
        if (tensor.defined()) visit(tensor);
    });
}

/// Returns the value with every tensor in it replaced.
template <class Replace>
c10::IValue with_tensors(const c10::IValue& value, Replace&& replace) {
    const auto replaced = [&](const at::Tensor& tensor) {
        return tensor.defined() ? replace(tensor) : tensor;
    };
    if (value.isTensor()) return replaced(value.toTensor());
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(replaced(tensor));
        return list;
    }
    if (!value.isList()) return value;
    // The value is a list of optional tensors. The type of a list in a scripted program does not always say
    // so.
    const auto items = value.toListRef();
    if (std::none_of(items.begin(), items.end(), [](const c10::IValue& item) { return item.isTensor(); }))
        return value;
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue& item : items)
        list.push_back(item.isTensor() ? std::optional(replaced(item.toTensor())) : std::nullopt);
    return list;
}

/// Returns the device that an op names, or that its tensors are on. A device other than the host takes
/// precedence, even if the op names the host: a program that was traced on the host names the host for
/// tensors that it makes.
c10::Device device_of_results(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                              std::size_t base) {
    c10::Device device = c10::DeviceType::CPU;
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
        if (schema.arguments()[i].name() == "device" && stack[base + i].isDevice() &&
            !stack[base + i].toDevice().is_cpu())
            return stack[base + i].toDevice();
        for_each_defined(stack[base + i], [&](const at::Tensor& tensor) {
            if (!tensor.device().is_cpu()) device = tensor.device();
        });
    }
    return device;
}

bool writes(const c10::Argument& argument) {
    return argument.alias_info() && argument.alias_info()->isWrite();
}

struct UnknownShape {
    std::string why;
};

}  // namespace

/// The device of the twins that stand for an op's arguments.
struct ShapeKernels::TwinDevice {
    c10::DeviceType type;
    c10::Storage (*twin)(const c10::Storage&);
    /// Turns a tensor that the op made on this device into a tensor of the caller's device.
    at::Tensor (*handed_over)(const at::Tensor& made, c10::Device device);
};

namespace {

using TwinDevice = ShapeKernels::TwinDevice;

/// On the Meta device ops compute only shapes.
const TwinDevice meta_device{
    .type = c10::DeviceType::Meta,
    .twin = [](const c10::Storage& storage) { return meta_storage(storage.nbytes()); },
    .handed_over = [](const at::Tensor& made, c10::Device device) { return shape_from_meta(made, device); }};

/// On the host, ops of an absent device compute values.
const TwinDevice host_device{
    .type = c10::DeviceType::CPU,
    .twin = [](const c10::Storage& storage) { return relabelled(storage, c10::DeviceType::CPU); },
    .handed_over = [](const at::Tensor& made,
                      c10::Device device) { return tensor_on(relabelled(made.storage(), device), made); }};

/// The tensors among the arguments of one call, each with its twin. The twin is a tensor of the twin device
/// that stands for the argument. Two twins share a storage if their arguments do.
class Twins {
  public:
    explicit Twins(const TwinDevice& where) : where_(where) {}

    at::Tensor of(const at::Tensor& tensor) {
        if (tensor.device().type() == where_.type) return tensor;
        // A wrapped number gets no twin, because kernels in Python read it as a number.
        if (tensor.unsafeGetTensorImpl()->is_wrapped_number() && has_data(tensor)) return tensor;
        if (!tensor.has_storage()) throw UnknownShape{"a sparse or opaque tensor"};
        for (const auto& [original, twin] : tensors_)
            if (original.is_same(tensor)) return twin;
        return tensors_.emplace_back(tensor, tensor_on(storage_of(tensor.storage()), tensor)).second;
    }

    /// Returns the caller's tensor for a tensor that the op returned: an argument, a view of an argument, or
    /// a new tensor of the device.
    at::Tensor original(const at::Tensor& result, c10::Device device) const {
        if (result.device().type() != where_.type || result.device() == device) return result;
        for (const auto& [original, twin] : tensors_)
            if (twin.is_same(result)) return original;
        for (const auto& [original, twin] : storages_)
            if (is_same(twin, result.storage())) return tensor_on(original, result);
        return where_.handed_over(result, device);
    }

    /// Gives the original storages the sizes of their twins, because the op may have resized the twins that
    /// it writes to.
    void take_sizes() const {
        for (const auto& [original, twin] : storages_)
            if (original.nbytes() != twin.nbytes())
                original.unsafeGetStorageImpl()->set_nbytes(twin.nbytes());
    }

  private:
    static bool is_same(const c10::Storage& a, const c10::Storage& b) {
        return a.unsafeGetStorageImpl() == b.unsafeGetStorageImpl();
    }
    const c10::Storage& storage_of(const c10::Storage& storage) {
        for (const auto& [original, twin] : storages_)
            if (is_same(original, storage)) return twin;
        return storages_.emplace_back(storage, where_.twin(storage)).second;
    }

    const TwinDevice& where_;
    std::vector<std::pair<at::Tensor, at::Tensor>> tensors_;
    std::vector<std::pair<c10::Storage, c10::Storage>> storages_;
};

/// Says whether an op of a device other than the host names the host as its device, or gets a tensor that is
/// in host memory and has at least one dimension. The op's kernel could not read such a tensor, unless it is
/// an index or is only copied. This occurs in programs that were traced on the host: they make tensors
/// (position ids, masks) on the host.
bool mixes_devices(const c10::FunctionSchema& schema, const torch::jit::Stack& stack, std::size_t base,
                   c10::Device device) {
    const std::string& name = schema.name();
    if (device.is_cpu()) return false;
    for (std::size_t i = 0; i < schema.arguments().size(); ++i)
        if (schema.arguments()[i].name() == "device" && stack[base + i].isDevice() &&
            stack[base + i].toDevice().is_cpu())
            return true;
    if (name.find("index") != name.npos || name.find("copy") != name.npos) return false;
    bool mixes = false;
    for (std::size_t i = base; i < stack.size(); ++i)
        for_each_defined(stack[i], [&](const at::Tensor& tensor) {
            mixes = mixes || (tensor.device().is_cpu() && tensor.dim() > 0);
        });
    return mixes;
}

void take_geometry(const at::Tensor& original, const at::Tensor& twin) {
    if (original.sizes() == twin.sizes() && original.strides() == twin.strides()) return;
    original.unsafeGetTensorImpl()->set_sizes_and_strides(twin.sizes(), twin.strides(),
                                                          twin.storage_offset());
}

/// Returns the name of the op that lacks a Meta kernel, from messages such as "Could not run 'aten::x' ..."
/// and "aten::x: attempted to run this operator with Meta tensors ..."; empty for other messages.
std::string missing_op(const std::string& message) {
    for (const char* phrase :
         {"attempted to run this operator with Meta tensors", "from the 'Meta' backend"}) {
        if (message.find(phrase) == message.npos) continue;
        const std::size_t begin = message.find("aten::");
        if (begin == message.npos) return "an op";
        return message.substr(begin, message.find_first_of("' :", begin + 6) - begin);
    }
    return {};
}

}  // namespace

ShapeKernels::ShapeKernels(c10::Device device, bool is_absent) : device_(device), is_absent_(is_absent) {
    register_meta_kernels();
    set_meta_target(device.type());
}

void ShapeKernels::run_on_twins(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                                const TwinDevice& where) {
    const auto& schema = op.schema();
    const std::size_t count = schema.arguments().size(), base = stack->size() - count;
    const c10::Device device = device_of_results(schema, *stack, base);
    Twins twins(where);
    std::vector<std::pair<at::Tensor, at::Tensor>> written;
    torch::jit::Stack inner;
    for (std::size_t i = 0; i < count; ++i) {
        const c10::IValue& value = (*stack)[base + i];
        if (schema.arguments()[i].name() == "device") {
            inner.emplace_back(c10::Device(where.type));
        } else if (schema.arguments()[i].name() == "pin_memory") {
            inner.emplace_back();
        } else {
            inner.push_back(with_tensors(value, [&](const at::Tensor& tensor) { return twins.of(tensor); }));
        }
        if (!writes(schema.arguments()[i])) continue;
        for_each_defined(value,
                         [&](const at::Tensor& tensor) { written.emplace_back(tensor, twins.of(tensor)); });
    }
    try {
        at::AutoDispatchBelowADInplaceOrView below_autograd;
        const bool on_shapes = where.type == c10::DeviceType::Meta;
        op.redispatchBoxed(c10::DispatchKeySet(on_shapes ? shape_key(op) : c10::DispatchKey::CPU), &inner);
    } catch (const c10::Error& error) {
        const std::string missing = missing_op(error.what_without_backtrace());
        if (!missing.empty()) throw UnknownShape{"no shape function for " + missing};
        throw;
    }
    for (const auto& [original, twin] : written) {
        if (where.type == c10::DeviceType::Meta && has_data(original) && original.nbytes() > 0)
            drop_data(original.storage());
        take_geometry(original, twin);
    }
    if (!written.empty()) twins.take_sizes();
    torch::jit::drop(*stack, count);
    for (const c10::IValue& value : inner)
        stack->push_back(
            with_tensors(value, [&](const at::Tensor& tensor) { return twins.original(tensor, device); }));
}

/// Runs the op's kernel if its tensors have values and its results are small. Returns whether it has run.
bool ShapeKernels::run_for_real(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                torch::jit::Stack* stack) {
    if (op.hasTag(at::Tag::nondeterministic_seeded)) return false;
    const auto& schema = op.schema();
    const std::size_t base = stack->size() - schema.arguments().size();
    const c10::Device device = device_of_results(schema, *stack, base);
    const bool on_host = device.is_cpu();
    if (!on_host && !(is_absent_ && device == device_)) return false;
    bool known = true, reads = false;
    for (std::size_t i = base; i < stack->size(); ++i) {
        for_each_defined((*stack)[i], [&](const at::Tensor& tensor) {
            known = known && (tensor.device().is_cpu() || tensor.device() == device) &&
                    tensor.has_storage() && has_values_on_host(tensor);
            reads = true;
        });
    }
    if (!known) return false;
    std::size_t bytes = 0;
    // Views and ops that write in place allocate no memory for results, so their results count as small. Ops
    // that write to lists in place return nothing.
    const bool takes_memory = !schema.returns().empty() &&
                              std::all_of(schema.returns().begin(), schema.returns().end(),
                                          [](const c10::Argument& result) { return !result.alias_info(); });
    if (takes_memory && !op.hasTag(at::Tag::data_dependent_output) &&
        !op.hasTag(at::Tag::dynamic_output_shape)) {
        torch::jit::Stack trial(stack->begin() + static_cast<std::ptrdiff_t>(base), stack->end());
        try {
            run_on_twins(op, &trial, meta_device);
        } catch (const UnknownShape&) {
            if (!reads) throw;
            trial.clear();  // only the kernel knows the shapes
        }
        for (const c10::IValue& value : trial)
            for_each_defined(value, [&](const at::Tensor& tensor) { bytes += tensor.storage().nbytes(); });
    }
    if (bytes > largest_known) return false;
    if (on_host) {
        op.redispatchBoxed(behind_own_key(keys), stack);
        return true;
    }
    try {
        run_on_twins(op, stack, host_device);
        return true;
    } catch (const c10::Error&) {
        return false;  // the host has no kernel for it, or the op gives a tensor other memory
    } catch (const UnknownShape&) {
        return false;
    }
}

std::optional<std::string> ShapeKernels::run(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                             torch::jit::Stack* stack) {
    const std::size_t base = stack->size() - op.schema().arguments().size();
    const c10::Device device = device_of_results(op.schema(), *stack, base);
    takes_host_tensors_ = takes_host_tensors_ || mixes_devices(op.schema(), *stack, base, device);
    constexpr const char* needs_values =
        "the value of a tensor is needed, and a capture from shapes has none";
    try {
        if (run_for_real(op, keys, stack)) return {};
        if (op.hasTag(at::Tag::data_dependent_output)) return needs_values;
        run_on_twins(op, stack, meta_device);
        return {};
    } catch (const UnknownShape& unknown) {
        return op.hasTag(at::Tag::dynamic_output_shape) ? needs_values : unknown.why;
    } catch (const std::exception&) {
        if (op.hasTag(at::Tag::dynamic_output_shape)) return needs_values;
        throw;
    }
}

}  // namespace rematlas
