// Lets a process without a CUDA device run models as if it had one.
//
// Above the kernels, libtorch makes choices that depend on the device: whether batch norm uses cuDNN, whether
// dropout is fused, which kernel computes attention. With the stand-in, libtorch makes the choices that it
// would make on the device of a profile. Streams and events do nothing.
#pragma once

#include "core/costs/device_profile.h"

namespace rematlas {

/// Must be called before a model is loaded; later calls change the profile. If libtorch's own CUDA is loaded
/// and has a device, the profile only decides which attention kernel runs.
void stand_in_for_cuda(const DeviceProfile& profile);
/// Ends the stand-in: libtorch uses its own CUDA again, if it is loaded.
void stop_standing_in();

/// The properties of a call that decide which attention kernel runs.
struct AttentionCall {
    std::string dtype;             ///< type of the query
    std::int64_t width = 0;        ///< width of a head of the query
    std::int64_t value_width = 0;  ///< width of a head of the value
    bool masked = false;           ///< whether there is an explicit mask
    bool mask_gradient = false;    ///< whether the mask needs a gradient
    bool gradient = false;         ///< whether query, key or value needs a gradient
    bool grouped = false;          ///< whether there are fewer heads of keys than of queries
    double dropout = 0;
};
enum class AttentionKernel { math = 0, flash = 1, efficient = 2, cudnn = 3 };  ///< numbered as in libtorch

/// Returns the kernel that libtorch 2.11 to 2.15 prefers on devices of this capability.
AttentionKernel attention_kernel(double capability, const AttentionCall& call);

}  // namespace rematlas
