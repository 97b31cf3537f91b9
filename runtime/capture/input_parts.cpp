#include "runtime/capture/input_parts.h"

#include <algorithm>

namespace rematlas {

std::unordered_map<const c10::StorageImpl*, InputPart> parts_of(const std::vector<at::Tensor>& inputs) {
    std::unordered_map<const c10::StorageImpl*, InputPart> parts;
    for (const at::Tensor& input : inputs) {
        std::int64_t last = 0;
        for (std::int64_t axis = 0; axis < input.dim(); ++axis)
            last += std::max<std::int64_t>(input.size(axis) - 1, 0) * input.stride(axis);
        const auto item = static_cast<std::int64_t>(input.element_size());
        const std::int64_t begin = input.storage_offset() * item;
        const InputPart part{begin, begin + (input.numel() == 0 ? 0 : (last + 1) * item)};
        const auto [found, fresh] = parts.try_emplace(input.storage().unsafeGetStorageImpl(), part);
        if (fresh) continue;
        found->second.begin = std::min(found->second.begin, part.begin);
        found->second.end = std::max(found->second.end, part.end);
    }
    return parts;
}

}  // namespace rematlas
