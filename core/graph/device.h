// The device for which a graph was captured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/ids.h"
#include "core/base/links.h"

namespace rematlas {

/// Settings of libtorch's caching allocator; see core/addresses/caching_allocator.h.
struct CachingAllocatorOptions {
    bool expandable_segments = false;  ///< PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    std::int64_t large_segment = std::int64_t{20} << 20;  ///< bytes; PyTorch's large_segment_size_mb
    bool operator==(const CachingAllocatorOptions&) const = default;
};

struct Device {
    std::string name;
    Bytes memory = {};  ///< 0 if unknown
    Links links = {};
    Bytes host_memory = {};       ///< 0: unknown, and not limited
    std::string kind = {};        ///< "cpu" or "cuda"; empty if unknown
    std::int64_t alignment = 64;  ///< bytes; the device's allocator returns multiples of it
    /// Empty if the allocator reserves nothing beyond the live tensors.
    std::optional<CachingAllocatorOptions> allocator = {};
    bool operator==(const Device&) const = default;
};

}  // namespace rematlas
