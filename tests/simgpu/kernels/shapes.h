// The shapes of a kernel's results. A run of the CPU's kernel on zeros finds them. Calls with the same
// signature find them only once.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/simgpu/kernels/twins.h"

namespace simgpu {

struct Shape {
    bool defined = false;
    int same_as = -1;  ///< index of the argument that the op returns as this result; -1 if none
    at::ScalarType type = at::kFloat;
    std::vector<std::int64_t> sizes, strides;

    static Shape of(const at::Tensor& tensor) {
        if (!tensor.defined()) return {};
        return {true, -1, tensor.scalar_type(), tensor.sizes().vec(), tensor.strides().vec()};
    }
};

struct Shapes {
    std::vector<Shape> results;                       ///< all result tensors, with lists flattened
    std::vector<c10::IValue> numbers;                 ///< per result: its value if it is not a tensor; else
                                                      ///< empty
    std::vector<std::optional<std::size_t>> lengths;  ///< per result: the length of the list if it is a list
    std::vector<Shape> written;  ///< shapes of the arguments that are written to, in order; an `out` argument
                                 ///< can grow
};

inline bool writes(const c10::Argument& argument) {
    return argument.alias_info() && argument.alias_info()->isWrite();
}

/// Returns a generator for a CPU kernel. Its numbers depend only on this position of the device's generator.
at::Generator generator_at(std::uint64_t seed, std::uint64_t offset);

/// Runs the CPU's kernel, and replaces the arguments on the stack by the results. May only be called while an
/// object of class Apart exists.
void call_twin(const c10::OperatorHandle& op, const SpecialKernel* special, torch::jit::Stack& stack,
               const at::Generator& generator);

/// Returns the shapes of the results. They come from a run of the CPU's kernel on zeros. If the kernel
/// refuses zeros (a matrix without inverse), they come from a run on ones.
const Shapes& shapes_of(const c10::OperatorHandle& op, const std::string& name, const SpecialKernel* special,
                        const torch::jit::Stack& arguments);

}  // namespace simgpu
