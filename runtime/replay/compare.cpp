#include "runtime/replay/compare.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>

namespace rematlas {

bool identical(const at::Tensor& a, const at::Tensor& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
    at::NoGradGuard no_grad;
    const auto plain = [](const at::Tensor& tensor) {
        return tensor.resolve_conj().resolve_neg().cpu().contiguous();
    };
    const at::Tensor left = plain(a), right = plain(b);
    return std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

bool identical(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const at::Tensor& x, const at::Tensor& y) { return identical(x, y); });
}

std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors) {
    at::NoGradGuard no_grad;
    std::vector<at::Tensor> copies;
    for (const at::Tensor& tensor : tensors)
        copies.push_back(tensor.defined() ? tensor.detach().clone() : at::Tensor());
    return copies;
}

}  // namespace rematlas
