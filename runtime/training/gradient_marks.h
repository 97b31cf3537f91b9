// Notices that a program writes to `.grad` of parameters itself, where a plan would not.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace rematlas {

/// The gradients that tensors have at a time.
class GradientMarks {
  public:
    GradientMarks() = default;
    explicit GradientMarks(const std::vector<at::Tensor>& tensors);
    /// Says whether one of the tensors has another gradient now, or its gradient was written to.
    bool changed() const;

  private:
    using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    struct Mark {
        at::Tensor tensor;
        WeakTensor gradient;
        std::uint32_t version;
    };
    std::vector<Mark> marks_;
};

}  // namespace rematlas
