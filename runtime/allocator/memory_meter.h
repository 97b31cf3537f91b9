// Counts the memory of a device while a step runs.
#pragma once

#include <cstdint>

namespace rematlas {

class MemoryMeter {
  public:
    virtual ~MemoryMeter() = default;
    /// The bytes that the allocator has handed out, including the bytes by which it rounds up requests.
    virtual std::int64_t alive_bytes() const = 0;
    virtual std::int64_t peak_bytes() const = 0;  ///< the most bytes since reset_peak()
    virtual void reset_peak() = 0;
};

}  // namespace rematlas
