// Kernels of the device that have no namesake on the CPU, or one that must be asked in another way.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

namespace simgpu {

/// Replaces the arguments on the stack, all on the CPU, by the results. `generator`: for those that draw.
using Twin = void (*)(torch::jit::Stack& stack, const at::Generator& generator);

struct SpecialKernel {
    Twin twin = nullptr;
    bool draws = false;
    std::vector<int> on_host = {};  ///< results that lie in host memory, except while the stream is recorded
};

/// What libtorch calls the kernel when it says that it is not deterministic; null for all others.
const char* undetermined_kernel(const std::string& op);

/// Null: there is none by that name ("aten::native_dropout").
const SpecialKernel* special_kernel(const std::string& name);

}  // namespace simgpu
