// Tensors ready to be handed to kernels: one per operand, whose storage comes and goes with the tensor it
// looks at.
//
// Making a tensor takes longer than many small kernels; exchanging its storage takes a few nanoseconds.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/base/ids.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Makes a tensor that looks at the storage with the geometry of the operand.
at::Tensor tensor_of(const Operand& operand, c10::Storage storage, c10::Device device);

class OperandTable {
  public:
    OperandTable(const std::vector<Operand>& operands, std::size_t tensors, c10::Device device);

    const at::Tensor& operator[](int operand) const { return operands_[operand]; }
    const c10::Storage& storage(TensorId tensor) const { return storages_[tensor]; }
    bool holds(TensorId tensor) const { return present_[tensor]; }

    void place(TensorId tensor, c10::Storage storage);
    void clear(TensorId tensor);

    /// Lets the operands of `tensor` look at another storage for a while. The placed storage does not
    /// change.
    void redirect(TensorId tensor, const c10::Storage& storage);

    /// Makes a tensor that looks at the storage that the operand looks at now.
    at::Tensor view(const Operand& operand) const;

  private:
    std::vector<at::Tensor> operands_;
    IdVector<TensorId, std::vector<int>> looking_at_;
    IdVector<TensorId, c10::Storage> storages_;
    IdVector<TensorId, std::uint8_t> present_;
    c10::Storage nothing_;
};

}  // namespace rematlas
