// An allocator of host memory that knows exactly how many bytes are alive.
//
//     CountingAllocator::install();                 // once, before the first tensor is made
//     CountingAllocator::reset_peak();
//     ... run something ...
//     CountingAllocator::peak();                    // the most bytes alive since reset_peak()
//
// Counts what tensors ask for, not what malloc rounds it to. Threads: any; counters are atomic.
#pragma once

#include <cstdint>

namespace rematlas {

class CountingAllocator {
  public:
    /// Makes it libtorch's allocator of host memory for the rest of the process. Later calls do nothing.
    static void install();

    static std::int64_t alive();  ///< bytes
    static std::int64_t peak();   ///< bytes, the most alive since the last reset_peak()
    static void reset_peak();
};

}  // namespace rematlas
