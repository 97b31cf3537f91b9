// What a graph says of the device that it was captured for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/ids.h"

namespace rematlas {

/// Settings of libtorch's caching allocator; see core/addresses/caching_allocator.h.
struct CachingAllocatorOptions {
    bool expandable_segments = false;  ///< PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    std::int64_t large_segment = std::int64_t{20} << 20;  ///< bytes, large_segment_size_mb
    bool operator==(const CachingAllocatorOptions&) const = default;
};

struct Device {
    std::string name;
    Bytes memory;                         ///< 0 when unknown
    double to_host_bytes_per_second = 0;  ///< 0: nothing can be copied
    double to_device_bytes_per_second = 0;
    /// While bytes move the other way too; 0: as if they did not.
    double to_host_contended_bytes_per_second = 0, to_device_contended_bytes_per_second = 0;
    Nanoseconds copy_latency = {};  ///< of each copy, before its first byte moves
    Bytes least_copy = {};          ///< smaller tensors are not worth a copy: advice to solvers, no rule
    std::string kind = {};          ///< "cpu" or "cuda"; empty when unknown
    std::int64_t alignment = 64;    ///< bytes, of the addresses that its allocator gives
    /// None where nothing is reserved beyond what is alive.
    std::optional<CachingAllocatorOptions> allocator = {};
    bool operator==(const Device&) const = default;
};

}  // namespace rematlas
