// Lets a process without CUDA see what models do on a CUDA device.
//
// What libtorch decides above the kernels depends on the device: whether batch norm is cuDNN's, whether
// dropout is fused, which kernel does attention. With the stand-in it gets the answers of the device of a
// profile; streams and events do nothing.
#pragma once

#include "core/costs/device_profile.h"

namespace rematlas {

/// Once per process, before a model is loaded; later calls change the profile alone. Does nothing where
/// libtorch's own CUDA is loaded.
void stand_in_for_cuda(const DeviceProfile& profile);

/// What an attention kernel's choice depends on.
struct AttentionCall {
    std::string dtype;             ///< of the query
    std::int64_t width = 0;        ///< of a head of the query
    std::int64_t value_width = 0;  ///< of a head of the value
    bool masked = false;           ///< an explicit mask
    bool mask_gradient = false;    ///< which needs a gradient
    bool gradient = false;         ///< something needs a gradient
    bool grouped = false;          ///< fewer heads of keys than of queries
    double dropout = 0;
};
enum class AttentionKernel { math = 0, flash = 1, efficient = 2, cudnn = 3 };  ///< libtorch's numbers

/// The rules of libtorch 2.11 for devices of this capability, in its order of preference.
AttentionKernel attention_kernel(double capability, const AttentionCall& call);

}  // namespace rematlas
