// What is asked about the memory of a device while a step runs.
#pragma once

#include <cstdint>

namespace rematlas {

class MemoryMeter {
  public:
    virtual ~MemoryMeter() = default;
    /// What the allocator has handed out, what it adds to requests included.
    virtual std::int64_t alive_bytes() const = 0;
    virtual std::int64_t peak_bytes() const = 0;  ///< since reset_peak()
    virtual void reset_peak() = 0;
};

}  // namespace rematlas
