// The device that a graph was captured for, as far as the graph knows it.
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
    std::int64_t large_segment = std::int64_t{20} << 20;  ///< bytes, large_segment_size_mb
    bool operator==(const CachingAllocatorOptions&) const = default;
};

struct Device {
    std::string name;
    Bytes memory = {};  ///< 0 when unknown
    Links links = {};
    Bytes host_memory = {};       ///< 0: unknown, and no limit
    std::string kind = {};        ///< "cpu" or "cuda"; empty when unknown
    std::int64_t alignment = 64;  ///< bytes, of the addresses that its allocator gives
    /// None where the allocator reserves nothing beyond the tensors that are alive.
    std::optional<CachingAllocatorOptions> allocator = {};
    bool operator==(const Device&) const = default;
};

}  // namespace rematlas
