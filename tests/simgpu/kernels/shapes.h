// The shapes of what a kernel makes: those that the CPU's kernel makes of zeros, kept for each signature.
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
    int same_as = -1;  ///< the argument itself
    at::ScalarType type = at::kFloat;
    std::vector<std::int64_t> sizes, strides;

    static Shape of(const at::Tensor& tensor) {
        if (!tensor.defined()) return {};
        return {true, -1, tensor.scalar_type(), tensor.sizes().vec(), tensor.strides().vec()};
    }
};

struct Shapes {
    std::vector<Shape> results;                       ///< of all result tensors, lists laid out flat
    std::vector<c10::IValue> numbers;                 ///< of each result that is no tensor, else nothing
    std::vector<std::optional<std::size_t>> lengths;  ///< of each result: the length of a list
    std::vector<Shape> written;  ///< of the arguments written to, in order: `out` may grow
};

inline bool writes(const c10::Argument& argument) {
    return argument.alias_info() && argument.alias_info()->isWrite();
}

/// A generator of the host for what a kernel draws from there.
at::Generator generator_at(std::uint64_t seed, std::uint64_t offset);

/// Runs the CPU's kernel; the results take the place of the arguments. Called apart.
void call_twin(const c10::OperatorHandle& op, const SpecialKernel* special, torch::jit::Stack& stack,
               const at::Generator& generator);

/// Some kernels refuse zeros (a matrix that has no inverse); ones may do.
const Shapes& shapes_of(const c10::OperatorHandle& op, const std::string& name, const SpecialKernel* special,
                        const torch::jit::Stack& arguments);

}  // namespace simgpu
