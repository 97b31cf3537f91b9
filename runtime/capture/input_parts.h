// The part of a storage that inputs use. A batch can be a slice of one tensor that holds the whole data set.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace rematlas {

struct InputPart {
    std::int64_t begin = 0, end = 0;  ///< offsets in the storage, in bytes
    std::int64_t bytes() const { return end - begin; }
};

/// Returns one part per storage, because inputs in one storage are one value. The part ranges from the first
/// byte that any of these inputs uses to the last.
std::unordered_map<const c10::StorageImpl*, InputPart> parts_of(const std::vector<at::Tensor>& inputs);

}  // namespace rematlas
