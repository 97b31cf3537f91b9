// Tensors that are ready to be passed to kernels, one per operand. When a tensor of the graph appears or
// disappears, the storage of its operands is exchanged.
//
// Making a tensor takes longer than many small kernels; exchanging its storage takes a few nanoseconds.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/base/ids.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// Makes a tensor on the storage, with the geometry of the operand.
at::Tensor tensor_of(const Operand& operand, c10::Storage storage, c10::Device device);

class OperandTable {
  public:
    OperandTable(const std::vector<Operand>& operands, std::size_t tensors, c10::Device device);

    const at::Tensor& operator[](int operand) const { return operands_[operand]; }
    const c10::Storage& storage(TensorId tensor) const { return storages_[tensor]; }
    bool holds(TensorId tensor) const { return present_[tensor]; }

    void place(TensorId tensor, c10::Storage storage);
    void clear(TensorId tensor);

    /// Makes the operands of `tensor` refer to another storage for a while. `storage(tensor)` still returns
    /// the storage that was placed.
    void redirect(TensorId tensor, const c10::Storage& storage);

    /// Makes a tensor with the operand's geometry on the storage that was placed for the operand's tensor.
    at::Tensor view(const Operand& operand) const;

  private:
    std::vector<at::Tensor> operands_;
    IdVector<TensorId, std::vector<int>> looking_at_;
    IdVector<TensorId, c10::Storage> storages_;
    IdVector<TensorId, std::uint8_t> present_;
    c10::Storage nothing_;
};

}  // namespace rematlas
