#include "runtime/training/shared_outputs.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rematlas {
namespace {

/// Says whether two tensors are chunks of one tensor along one axis. The second tensor begins `distance`
/// elements after the first.
bool are_chunks(const at::Tensor& first, const at::Tensor& second, std::int64_t distance) {
    if (first.strides() != second.strides()) return false;
    std::vector<std::int64_t> axes(static_cast<std::size_t>(first.dim()));
    std::iota(axes.begin(), axes.end(), 0);
    std::sort(axes.begin(), axes.end(),
              [&](std::int64_t a, std::int64_t b) { return first.stride(a) > first.stride(b); });
    for (std::int64_t axis : axes) {
        if (first.stride(axis) <= 0) return false;
        if (distance / first.stride(axis) >= first.size(axis)) return true;
        distance %= first.stride(axis);
    }
    return false;
}

/// Says whether a write in place to one tensor would change the other. Parts that interleave count as
/// overlapping, unless they are chunks of one tensor.
bool overlap(const at::Tensor& a, const at::Tensor& b) {
    if (a.storage().unsafeGetStorageImpl() != b.storage().unsafeGetStorageImpl() || a.numel() == 0 ||
        b.numel() == 0)
        return false;
    const auto [first, second] = a.storage_offset() <= b.storage_offset() ? std::tie(a, b) : std::tie(b, a);
    std::int64_t last = first.storage_offset();
    for (std::int64_t axis = 0; axis < first.dim(); ++axis)
        last += (first.size(axis) - 1) * first.stride(axis);
    if (a.scalar_type() != b.scalar_type()) return true;
    return last >= second.storage_offset() &&
           !are_chunks(first, second, second.storage_offset() - first.storage_offset());
}

}  // namespace

WrittenInPlace::WrittenInPlace(const std::vector<at::Tensor>& outputs) {
    const auto has_history = [](const at::Tensor& output) {
        return output.defined() && output.requires_grad() && output.has_storage();
    };
    for (std::size_t i = 0; i < outputs.size(); ++i)
        for (std::size_t j = 0; j < i && has_history(outputs[i]); ++j)
            if (has_history(outputs[j]) && !outputs[i].is_same(outputs[j]) && overlap(outputs[i], outputs[j]))
                for (const at::Tensor& output : {outputs[i], outputs[j]})
                    versions_.emplace_back(output.unsafeGetTensorImpl()->version_counter(),
                                           output._version());
}

bool WrittenInPlace::happened() const {
    return std::any_of(versions_.begin(), versions_.end(), [](const auto& seen) {
        return static_cast<std::int64_t>(seen.first.current_version()) != seen.second;
    });
}

}  // namespace rematlas
