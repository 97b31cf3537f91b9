// Replacements for kernels of the device for which the CPU has no kernel of the same name, or has a kernel
// with different arguments.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

namespace simgpu {

/// Replaces the arguments on the stack, which are on the CPU, by the results. `generator` is for kernels that
/// draw random numbers.
using Twin = void (*)(torch::jit::Stack& stack, const at::Generator& generator);

struct SpecialKernel {
    Twin twin = nullptr;
    bool draws = false;
    std::vector<int> on_host = {};  ///< indices of results that are in host memory, except while the stream
                                    ///< is recorded
};

/// Returns the name that libtorch gives the kernel when it reports that the kernel is not deterministic; null
/// for deterministic kernels.
const char* undetermined_kernel(const std::string& op);

/// Returns the special kernel of that name ("aten::native_dropout"), or null.
const SpecialKernel* special_kernel(const std::string& name);

}  // namespace simgpu
