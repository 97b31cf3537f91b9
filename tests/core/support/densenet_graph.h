// Synthetic training graphs of a DenseNet: many cheap ops, whose activations are read again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

struct DensenetShape {
    std::vector<int> layers = {6, 12, 24, 16};  ///< of each dense block; these are DenseNet-121
    std::int64_t batch = 8, image = 224, growth = 32;
};

/// One training step in single precision on a device of 20 TFLOP/s and 1 TB/s (Huang et al., CVPR 2017). A
/// layer concatenates all that its block made before: batch norm, relu, 1x1 convolution, batch norm, relu,
/// 3x3 convolution. Gradients of what was concatenated are views of one tensor, added up layer by layer.
/// Parameters are resident, their gradients are results, convolutions have workspaces, relus and sums may run
/// in place. 1,385 ops for DenseNet-121, 3,210 for DenseNet-201; passes `validate`.
Graph densenet_graph(const DensenetShape& shape = {});

}  // namespace rematlas
