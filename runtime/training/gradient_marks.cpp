#include "runtime/training/gradient_marks.h"

#include <algorithm>

namespace rematlas {
namespace {

std::uint32_t version_of(const at::Tensor& gradient) {
    return gradient.defined() && !gradient.is_inference() ? static_cast<std::uint32_t>(gradient._version())
                                                          : 0;
}

}  // namespace

GradientMarks::GradientMarks(const std::vector<at::Tensor>& tensors) {
    for (const at::Tensor& tensor : tensors) {
        const at::Tensor& gradient = tensor.mutable_grad();
        marks_.push_back({tensor, WeakTensor(gradient.getIntrusivePtr()), version_of(gradient)});
    }
}

bool GradientMarks::changed() const {
    return std::any_of(marks_.begin(), marks_.end(), [](const Mark& mark) {
        const at::Tensor& gradient = mark.tensor.mutable_grad();
        const at::Tensor before(mark.gradient.lock());
        return gradient.unsafeGetTensorImpl() != before.unsafeGetTensorImpl() ||
               version_of(gradient) != mark.version;
    });
}

}  // namespace rematlas
