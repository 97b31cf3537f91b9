#include "tests/simgpu/kernels/shapes.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/grad_mode.h>

#include <mutex>
#include <sstream>
#include <unordered_map>

#include "tests/simgpu/kernels/tensors.h"

namespace simgpu {

using torch::jit::Stack;

namespace {

void describe(std::ostringstream& text, const c10::IValue& value) {
    if (value.isTensor()) {
        const at::Tensor& tensor = value.toTensor();
        if (!tensor.defined()) {
            text << "u;";
            return;
        }
        text << int(tensor.scalar_type()) << (tensor.is_cpu() ? 'h' : 'd') << tensor.sizes()
             << tensor.strides() << tensor.unsafeGetTensorImpl()->is_wrapped_number() << ';';
    } else if (value.isList()) {
        text << '(';
        for (const c10::IValue& item : value.toListRef()) describe(text, item);
        text << ')';
    } else if (value.isGenerator()) {
        text << "g;";
    } else {
        text << value << ';';
    }
}

std::string signature(const std::string& name, const Stack& arguments) {
    std::ostringstream text;
    text.precision(17);
    text << name << ':';
    for (const c10::IValue& argument : arguments) describe(text, argument);
    return text.str();
}

/// Returns the arguments as host tensors. Each tensor of the device is replaced by a new host tensor that is
/// filled with `value`.
Stack filled(const Stack& arguments, double value) {
    Stack made;
    for (const c10::IValue& argument : arguments)
        made.push_back(mapped(argument, [&](const at::Tensor& tensor) {
            if (tensor.is_cpu())
                return tensor.dim() == 0 && tensor.unsafeGetTensorImpl()->is_wrapped_number()
                           ? tensor
                           : tensor.clone();
            at::Tensor fresh =
                at::detail::empty_strided_cpu(tensor.sizes(), tensor.strides(), tensor.scalar_type());
            return fresh.fill_(value);
        }));
    return made;
}

Shapes shapes_from(const c10::OperatorHandle& op, const SpecialKernel* special, const Stack& arguments,
                   double value) {
    Stack stack = filled(arguments, value);
    const Stack given = stack;
    call_twin(op, special, stack, generator_at(1, 1));
    Shapes shapes;
    const auto add = [&](const at::Tensor& result) {
        Shape shape = Shape::of(result);
        for (std::size_t i = 0; i < given.size(); ++i)
            if (shape.defined && given[i].isTensor() && given[i].toTensor().is_same(result))
                shape.same_as = static_cast<int>(i);
        shapes.results.push_back(std::move(shape));
    };
    for (const c10::IValue& result : stack) {
        shapes.numbers.push_back(result.isTensor() || result.isTensorList() ? c10::IValue() : result);
        shapes.lengths.push_back(result.isTensorList() ? std::optional(result.toTensorVector().size())
                                                       : std::nullopt);
        if (result.isTensorList())
            for (const at::Tensor& tensor : result.toTensorVector()) add(tensor);
        else if (result.isTensor())
            add(result.toTensor());
        else
            shapes.results.push_back({});
    }
    const auto& declared = op.schema().arguments();
    for (std::size_t i = 0; i < declared.size(); ++i)
        if (writes(declared[i]))
            mapped(given[i], [&](const at::Tensor& tensor) {
                return shapes.written.push_back(Shape::of(tensor)), tensor;
            });
    return shapes;
}

}  // namespace

at::Generator generator_at(std::uint64_t seed, std::uint64_t offset) {
    std::uint64_t mixed = (seed ^ 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu + offset * 0xc4ceb9fe1a85ec53u;
    mixed ^= mixed >> 31;
    return at::make_generator<at::CPUGeneratorImpl>(mixed);
}

void call_twin(const c10::OperatorHandle& op, const SpecialKernel* special, Stack& stack,
               const at::Generator& generator) {
    for (c10::IValue& value : stack)
        if (value.isGenerator()) value = generator;
    const auto& arguments = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (arguments[i].name() == "generator" && stack[i].isNone()) stack[i] = generator;
    if (special)
        special->twin(stack, generator);
    else
        op.callBoxed(&stack);
}

const Shapes& shapes_of(const c10::OperatorHandle& op, const std::string& name, const SpecialKernel* special,
                        const Stack& arguments) {
    static std::mutex mutex;
    static std::unordered_map<std::string, Shapes> known;
    std::lock_guard lock(mutex);
    const std::string key = signature(name, arguments);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    const Apart apart;
    Shapes made;
    try {
        made = shapes_from(op, special, arguments, 0);
    } catch (const c10::Error&) {
        made = shapes_from(op, special, arguments, 1);
    }
    return known.emplace(key, std::move(made)).first->second;
}

}  // namespace simgpu
