// The one symbol of the library that holds the CUDA runtime.
#pragma once

#include <string>

#include "runtime/device/device.h"

namespace rematlas {

/// `host` is taken over. The caller owns what is returned. Null: `why_not` says why.
extern "C" DeviceRuntime* rematlas_open_cuda(int index, const DeviceOptions* options, DeviceRuntime* host,
                                             std::string* why_not);

constexpr const char* cuda_library_name = "librematlas_cuda.so";  ///< beside the program
constexpr const char* cuda_library_symbol = "rematlas_open_cuda";

}  // namespace rematlas
