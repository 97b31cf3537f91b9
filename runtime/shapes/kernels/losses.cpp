#include <ATen/core/Reduction.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>

#include "runtime/shapes/kernels/kernels.h"

namespace rematlas::meta {
namespace {

Tensor zero_dimensional(const Tensor& self) {
    return at::empty({}, self.options());
}

/// These kernels first make a tensor with the loss of every element, then shrink it to the result. The result
/// keeps the bytes of this larger tensor.
Tensor elementwise_loss(const Tensor& self, const Tensor& target, std::int64_t reduction) {
    Tensor loss = pointwise({self, target}, at::result_type(self, target));
    return reduction == at::Reduction::None ? loss : loss.resize_({});
}
Tensor smooth_l1(const Tensor& self, const Tensor& target, std::int64_t reduction, double) {
    return elementwise_loss(self, target, reduction);
}
Tensor binary_cross_entropy(const Tensor& self, const Tensor&, const OptionalTensor&,
                            std::int64_t reduction) {
    Tensor loss = preserving(self);
    return reduction == at::Reduction::None ? loss : loss.resize_({});
}

Tensor huber(const Tensor& self, const Tensor&, std::int64_t reduction, double) {
    return reduction == at::Reduction::None ? preserving(self) : zero_dimensional(self);
}

Tensor multi_margin(const Tensor& self, const Tensor& target, const at::Scalar&, const at::Scalar&,
                    const OptionalTensor&, std::int64_t reduction) {
    return reduction == at::Reduction::None ? at::empty(target.sizes(), self.options())
                                            : zero_dimensional(self);
}
Tensor multi_margin_backward(const Tensor&, const Tensor& self, const Tensor&, const at::Scalar&,
                             const at::Scalar&, const OptionalTensor&, std::int64_t) {
    return at::empty(self.sizes(), self.options());
}

Two multilabel_margin(const Tensor& self, const Tensor& target, std::int64_t reduction) {
    const bool rows = reduction == at::Reduction::None && target.dim() > 1;
    return {rows ? at::empty({target.size(0)}, self.options()) : zero_dimensional(self),
            at::empty(target.sizes(), self.options())};
}

Two nll2d(const Tensor& self, const Tensor& target, const OptionalTensor&, std::int64_t reduction,
          std::int64_t) {
    return {
        reduction == at::Reduction::None ? at::empty(target.sizes(), self.options()) : zero_dimensional(self),
        zero_dimensional(self)};
}

/// cuDNN and MIOpen take only targets that are 32-bit integers in host memory. The targets of a training step
/// are on the device, so neither library is used.
bool chooses_library_for_ctc(const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, std::int64_t) {
    return false;
}

}  // namespace

void add_losses(Libraries& libraries) {
    add(libraries, "binary_cross_entropy", &binary_cross_entropy);
    add(libraries, "binary_cross_entropy_backward",
        of_second<preserving, const Tensor&, const OptionalTensor&, std::int64_t>);
    add(libraries, "mse_loss", &elementwise_loss);
    add(libraries, "smooth_l1_loss", &smooth_l1);
    add(libraries, "soft_margin_loss", &elementwise_loss);
    add(libraries, "huber_loss", &huber);
    add(libraries, "mse_loss_backward", of_second<contiguous_like, const Tensor&, std::int64_t>);
    for (const char* name : {"huber_loss_backward", "smooth_l1_loss_backward"})
        add(libraries, name, of_second<contiguous_like, const Tensor&, std::int64_t, double>);
    add(libraries, "multi_margin_loss", &multi_margin);
    add(libraries, "multi_margin_loss_backward", &multi_margin_backward);
    add(libraries, "multilabel_margin_loss_forward", &multilabel_margin);
    add(libraries, "multilabel_margin_loss_backward",
        of_second<contiguous_like, const Tensor&, std::int64_t, const Tensor&>);
    add(libraries, "nll_loss2d_forward", &nll2d);
    add(libraries, "nll_loss2d_backward",
        of_second<contiguous_like, const Tensor&, const OptionalTensor&, std::int64_t, std::int64_t,
                  const Tensor&>);
    add(libraries, "_use_cudnn_ctc_loss", &chooses_library_for_ctc);
    add(libraries, "_use_miopen_ctc_loss", &chooses_library_for_ctc);
    add(libraries, "_ctc_loss_backward",
        of_second<contiguous_like, const Tensor&, IntArrayRef, IntArrayRef, const Tensor&, const Tensor&,
                  std::int64_t, bool>);
}

}  // namespace rematlas::meta
