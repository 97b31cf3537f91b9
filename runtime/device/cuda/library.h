// The exported functions of the library with the CUDA runtime.
#pragma once

#include <string>

#include "runtime/allocator/step_memory.h"
#include "runtime/device/copies.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Takes ownership of `host`. The caller owns the result. If the result is null, `why_not` has the reason.
extern "C" DeviceRuntime* rematlas_open_cuda(int index, const DeviceOptions* options, DeviceRuntime* host,
                                             const StepMemoryCalls* calls, std::string* why_not);

/// `device` must come from `rematlas_open_cuda`. If the result is null, `why_not` has the reason.
extern "C" CopyQueues* rematlas_open_copies(DeviceRuntime* device, std::string* why_not);
/// If the result is null, `why_not` has the reason.
extern "C" PinnedSlab* rematlas_open_slab(int index, std::size_t bytes, std::string* why_not);

constexpr const char* cuda_library_name = "librematlas_cuda.so";  ///< in the program's folder
constexpr const char* cuda_library_symbol = "rematlas_open_cuda";
constexpr const char* cuda_copies_symbol = "rematlas_open_copies";
constexpr const char* cuda_slab_symbol = "rematlas_open_slab";

}  // namespace rematlas
