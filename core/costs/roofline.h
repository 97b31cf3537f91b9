// Predicts the time of an op from its shapes (Williams, Waterman and Patterson, Roofline, 2009):
//
//     time = launch + max(flops / (rate x efficiency), bytes / (bandwidth x efficiency))
//
//     OpCall call{.name = "aten::mm", .arguments = {{.sizes = {8192, 1600}, .dtype = "f32"}, ...},
//                 .bytes_read = ..., .bytes_written = ..., .elements_written = ...};
//     Nanoseconds time = roofline(profile, call);
//
// The flops of matrix products, convolutions and attention are computed from their shapes. Every other op
// counts as a few flops per element, so the memory bandwidth decides the time of most of these ops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/costs/device_profile.h"

namespace rematlas {

/// A tensor argument of a kernel. It has no sizes if the argument is missing.
struct ShapeOf {
    std::vector<std::int64_t> sizes;
    std::string dtype;
};

struct OpCall {
    std::string name;
    std::vector<ShapeOf> arguments;  ///< tensors in the order of the op's arguments; lists are flattened
    double bytes_read = 0, bytes_written = 0;
    double elements_written = 0;
    /// For convolution_backward: how many of the gradients of input and weight are computed.
    int gradients = 1;
    /// For attention: whether a query sees only the keys up to its own position.
    bool causal = false;
};

enum class Engine { vector, matmul, convolution, attention };
struct Work {
    Engine engine = Engine::vector;
    double flops = 0;
};

Work work_of(const OpCall& call);
Nanoseconds roofline(const DeviceProfile& profile, const OpCall& call);

}  // namespace rematlas
