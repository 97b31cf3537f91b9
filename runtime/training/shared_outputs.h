// Outputs of a module that share memory. As long as nobody writes to them they may be tensors of their own;
// what is written to one in place would be in the other, and in its gradient.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace rematlas {

class WrittenInPlace {
  public:
    WrittenInPlace() = default;
    /// Those of the outputs with a history that overlap; holds none of them.
    explicit WrittenInPlace(const std::vector<at::Tensor>& outputs);
    /// One of them has been written to since.
    bool happened() const;

  private:
    std::vector<std::pair<c10::VariableVersion, std::int64_t>> versions_;
};

}  // namespace rematlas
