// What capture and replay ask of the device that the step runs on.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace rematlas {

/// The state of a random number generator at one moment. Takes no memory that the allocator counts.
class GeneratorState {
  public:
    virtual ~GeneratorState() = default;
    virtual bool equals(const GeneratorState& other) const = 0;

    /// How often `advance(1)` must happen to get to `later`; nothing when that does not lead there within
    /// 2^30.
    virtual std::optional<std::int64_t> distance_to(const GeneratorState& later) const = 0;
    virtual void advance(std::int64_t draws) = 0;
};

class DeviceRuntime {
  public:
    virtual ~DeviceRuntime() = default;
    virtual c10::Device device() const = 0;
    virtual std::string name() const = 0;  ///< e.g. "cpu", "NVIDIA H200"

    virtual std::int64_t alive_bytes() const = 0;
    virtual std::int64_t peak_bytes() const = 0;  ///< since reset_peak()
    virtual void reset_peak() = 0;

    /// Waits for all that was submitted.
    virtual void synchronize() = 0;
    /// A clock for the time between two submissions, in nanoseconds; on an asynchronous device it
    /// synchronizes.
    virtual std::int64_t now() = 0;

    /// The default generator, which random ops draw from.
    virtual std::unique_ptr<GeneratorState> generator_state() const = 0;
    virtual void set_generator_state(const GeneratorState& state) = 0;
    virtual void seed_generator(std::uint64_t seed) = 0;

    virtual void copy(c10::Storage& to, const c10::Storage& from) = 0;  ///< both on the device, of equal size
};

/// The CPU with the counting allocator, which must be installed.
std::unique_ptr<DeviceRuntime> cpu_runtime();

/// "cpu" or "cuda". Errors: one line that says what is missing (CUDA was not compiled in, no device, no
/// driver).
Result<std::unique_ptr<DeviceRuntime>> open_device(const std::string& name);

}  // namespace rematlas
