// A parameter or a buffer, with its name in the model.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace rematlas {

struct NamedTensor {
    std::string name;
    at::Tensor tensor;
    bool is_parameter = false;
};

}  // namespace rematlas
