// Lets a process without a CUDA device see what models do on one.
//
// What libtorch decides above the kernels depends on the device: whether batch norm is cuDNN's, whether
// dropout is fused, which kernel does attention. With the stand-in it gets the answers of the device of a
// profile; streams and events do nothing.
#pragma once

#include "core/costs/device_profile.h"

namespace rematlas {

/// Before a model is loaded; later calls change the profile. Where libtorch's own CUDA is loaded and has a
/// device, attention alone is chosen by the profile.
void stand_in_for_cuda(const DeviceProfile& profile);
/// What libtorch asks of CUDA is answered by libtorch's own CUDA again, where that is loaded.
void stop_standing_in();

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

/// The rules of libtorch 2.11 to 2.15 for devices of this capability, in its order of preference.
AttentionKernel attention_kernel(double capability, const AttentionCall& call);

}  // namespace rematlas
