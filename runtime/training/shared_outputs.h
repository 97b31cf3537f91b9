// Watches outputs of a module that share memory. As long as nobody writes to them, the plan may return
// tensors with separate memory. In the original, a write in place to one of these outputs would also change
// another output and its gradient.
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
    /// Watches the outputs that have a history and overlap another output. Holds no tensor.
    explicit WrittenInPlace(const std::vector<at::Tensor>& outputs);
    /// Says whether one of the watched outputs has been written to since the constructor was called.
    bool happened() const;

  private:
    std::vector<std::pair<c10::VariableVersion, std::int64_t>> versions_;
};

}  // namespace rematlas
