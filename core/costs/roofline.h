// Predicts the time of an op from its shapes (Williams, Waterman and Patterson, Roofline, 2009):
//
//     time = launch + max(flops / (rate x efficiency), bytes / (bandwidth x efficiency))
//
//     OpCall call{.name = "aten::mm", .arguments = {{.sizes = {8192, 1600}, .dtype = "f32"}, ...},
//                 .bytes_read = ..., .bytes_written = ..., .elements_written = ...};
//     Nanoseconds time = roofline(profile, call);
//
// Products, convolutions and attention are counted from their shapes. Every other op counts as a few flops
// an element, so that the bandwidth of the memory decides the time of most of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/costs/device_profile.h"

namespace rematlas {

/// A tensor argument of a kernel; without sizes where the argument is missing.
struct ShapeOf {
    std::vector<std::int64_t> sizes;
    std::string dtype;
};

struct OpCall {
    std::string name;
    std::vector<ShapeOf> arguments;  ///< tensors in the order of the op's arguments, lists flattened
    double bytes_read = 0, bytes_written = 0;
    double elements_written = 0;
    int gradients = 1;    ///< of convolution_backward: how many gradients of input and weight
    bool causal = false;  ///< attention in which a query looks at the keys up to its own place
};

enum class Engine { vector, matmul, convolution, attention };
struct Work {
    Engine engine = Engine::vector;
    double flops = 0;
};

Work work_of(const OpCall& call);
Nanoseconds roofline(const DeviceProfile& profile, const OpCall& call);

}  // namespace rematlas
