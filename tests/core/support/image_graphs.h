// Synthetic training graphs of networks for images. A DenseNet has many cheap ops whose activations are read
// again and again. A U-Net has skips from its first levels to its last.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

struct DensenetShape {
    std::vector<int> layers = {6, 12, 24, 16};  ///< layers of each dense block; the default is DenseNet-121
    std::int64_t batch = 8, image = 224, growth = 32;
};

/// Returns one training step of a DenseNet (Huang et al., CVPR 2017), in single precision on a device of
/// 20 TFLOP/s and 1 TB/s. A layer concatenates all earlier outputs of its block, and then applies batch norm,
/// relu, 1x1 convolution, batch norm, relu, 3x3 convolution. The gradients of the concatenated tensors are
/// views of one tensor, and are added up layer by layer. Parameters are resident, their gradients are
/// results, convolutions have workspaces, and relus and sums may run in place. The step of DenseNet-121 has
/// 1,330 ops, that of DenseNet-201 has 3,118. Passes `validate`.
Graph densenet_graph(const DensenetShape& shape = {});

struct UnetShape {
    int depth = 6;  ///< levels, each of which halves the image
    std::int64_t batch = 8, image = 256, channels = 64;
};

/// Returns one training step of a U-Net (Ronneberger et al., MICCAI 2015), on the same device. Each level has
/// two convolutions with batch norm and relu. On the way up, an upsampling convolution and the concatenation
/// with the level's image from the way down come first. Channels double with each level, up to 16 times
/// `channels`. At depth 6 the step has 207 ops. Passes `validate`.
Graph unet_graph(const UnetShape& shape = {});

}  // namespace rematlas
