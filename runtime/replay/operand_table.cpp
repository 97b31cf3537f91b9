#include "runtime/replay/operand_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "runtime/dispatch/tensor_look.h"

namespace rematlas {
at::Tensor tensor_of(const Operand& operand, c10::Storage storage, c10::Device device) {
    return tensor_on(std::move(storage), device,
                     {.dtype = operand.dtype,
                      .sizes = operand.sizes,
                      .strides = operand.strides,
                      .offset = operand.offset,
                      .wrapped_number = operand.wrapped_number,
                      .conjugated = operand.conjugated,
                      .negated = operand.negated});
}

namespace {

struct Mapping {
    void* address;
    std::size_t bytes;
};

/// Returns a storage for an operand of which the op uses only the shape; kernels require a storage even then.
/// The storage reads as zeros and takes no memory. If the step runs on another device than the CPU, nobody
/// can read the storage, because a kernel of that device could not read it either.
c10::Storage address_space(const Operand& operand, c10::Device device) {
    std::int64_t elements = operand.offset + 1;
    for (std::size_t i = 0; i < operand.sizes.size(); ++i)
        elements += std::max<std::int64_t>(operand.sizes[i] - 1, 0) * operand.strides[i];
    const std::size_t bytes = static_cast<std::size_t>(elements) * c10::elementSize(operand.dtype);
    const int access = device.is_cpu() ? PROT_READ : PROT_NONE;
    void* address = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TORCH_CHECK(address != MAP_FAILED, "cannot reserve ", bytes, " bytes of address space");
    auto* mapping = new Mapping{address, bytes};
    const auto unmap = [](void* context) {
        auto* mapping = static_cast<Mapping*>(context);
        munmap(mapping->address, mapping->bytes);
        delete mapping;
    };
    return c10::Storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(address, mapping, unmap, device),
                        nullptr, false);
}

}  // namespace

OperandTable::OperandTable(const std::vector<Operand>& operands, std::size_t tensors, c10::Device step_device)
    : looking_at_(tensors),
      storages_(tensors),
      present_(tensors, 0),
      nothing_(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, step_device), nullptr, false) {
    for (const Operand& operand : operands) {
        const c10::Device device = operand.on_host ? c10::Device(c10::DeviceType::CPU) : step_device;
        if (operand.tensor.valid()) looking_at_[operand.tensor].push_back(static_cast<int>(operands_.size()));
        operands_.push_back(
            tensor_of(operand, operand.tensor.valid() ? nothing_ : address_space(operand, device), device));
    }
    for (TensorId tensor : storages_.ids()) storages_[tensor] = nothing_;
}

void OperandTable::redirect(TensorId tensor, const c10::Storage& storage) {
    for (int operand : looking_at_[tensor])
        operands_[operand].unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
}

void OperandTable::place(TensorId tensor, c10::Storage storage) {
    redirect(tensor, storage);
    storages_[tensor] = std::move(storage);
    present_[tensor] = true;
}

void OperandTable::clear(TensorId tensor) {
    redirect(tensor, nothing_);
    storages_[tensor] = nothing_;
    present_[tensor] = false;
}

at::Tensor OperandTable::view(const Operand& operand) const {
    const c10::Storage& storage = storages_[operand.tensor];
    return tensor_of(operand, storage, storage.device());
}

}  // namespace rematlas
