// Tensors that a step reads although they are neither parameters, buffers nor inputs of the module, for
// example the weights of a teacher in a list. A plan has the contents that such a tensor had when the step
// was recorded.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <cstdint>
#include <vector>

namespace rematlas {

class OutsideTensors {
  public:
    /// Notes that a step reads the tensor, without keeping it alive.
    void add(const at::Tensor& tensor);
    /// Returns the tensors that both steps have read and that are alive. Tensors that the forward makes anew
    /// in each step, such as numbers, are not among them. The contents count from the time of `second`.
    static OutsideTensors of_both(const OutsideTensors& first, const OutsideTensors& second);
    /// Says whether one of the tensors is gone, or was written to since it was read. Writes through `.data`
    /// or through other libraries are not seen.
    bool have_changed() const;

  private:
    struct Outside {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage;
        const c10::StorageImpl* identity;  ///< only compared, never dereferenced
        c10::VariableVersion version;      ///< version counter of the tensor, without the tensor itself
        std::uint32_t seen;
    };
    std::vector<Outside> tensors_;
};

}  // namespace rematlas
