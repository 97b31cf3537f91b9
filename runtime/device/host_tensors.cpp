#include "runtime/device/host_tensors.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "runtime/device/copies.h"

namespace rematlas {
namespace {

constexpr std::int64_t alignment = 64;

std::int64_t bytes_of(const at::Tensor& tensor) {
    return static_cast<std::int64_t>(
        at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.element_size()));
}

}  // namespace

Result<std::vector<at::Tensor>> host_tensors(const std::vector<at::Tensor>& like, std::optional<double> fill,
                                             DeviceRuntime& device) {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> shapes;
    std::vector<std::int64_t> offsets;
    std::int64_t end = 0;
    for (const at::Tensor& tensor : like) {
        shapes.push_back(at::empty_like(tensor, tensor.options().device(c10::DeviceType::Meta)));
        offsets.push_back(end);
        end += (bytes_of(shapes.back()) + alignment - 1) / alignment * alignment;
    }
    Result<std::unique_ptr<PinnedSlab>> opened =
        open_slab(device, static_cast<std::size_t>(std::max(end, alignment)));
    if (!opened) return opened.error();
    const std::shared_ptr<PinnedSlab> slab = opened.take();
    std::vector<at::Tensor> made;
    for (std::size_t i = 0; i < like.size(); ++i) {
        const at::Tensor& shape = shapes[i];
        c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(bytes_of(shape)),
                             slab_memory(slab, offsets[i], device.device()), nullptr, false);
        at::Tensor tensor = at::empty({0}, shape.options().device(device.device()));
        tensor.set_(std::move(storage), 0, shape.sizes(), shape.strides());
        if (fill)
            tensor.fill_(*fill);
        else
            tensor.copy_(like[i]);
        made.push_back(std::move(tensor));
    }
    return made;
}

}  // namespace rematlas
