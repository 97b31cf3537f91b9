// The random numbers of a step on a CUDA device. They come from the device's generator, or from the host's
// generator for ops on host tensors.
#pragma once

#include <ATen/cuda/CUDAGeneratorImpl.h>

#include <memory>

#include "runtime/device/device.h"

namespace rematlas {

/// The state of the device's default generator.
struct Philox {
    std::uint64_t seed = 0, offset = 0;
    bool operator==(const Philox&) const = default;
};
Philox philox_of(c10::DeviceIndex index);

/// The Philox state is a seed and an offset; every random kernel moves the offset by a number that follows
/// from its shape.
struct CudaGeneratorState final : GeneratorState {
    Philox philox;
    std::unique_ptr<GeneratorState> host;

    bool equals(const GeneratorState& other) const override;
    std::uint64_t digest() const override;
    /// Returns the number of draws from this state to `later`. The number is negative if the host's generator
    /// made the draws. Returns nullopt if both generators have moved.
    std::optional<std::int64_t> distance_to(const GeneratorState& later) const override;
    void advance(std::int64_t draws) override;
};

std::unique_ptr<CudaGeneratorState> generator_state_of(c10::DeviceIndex index, const DeviceRuntime& host);
void set_generator_state_of(c10::DeviceIndex index, DeviceRuntime& host, const GeneratorState& state);

/// While an object of this class lives, the device's generator draws from a separate state. In captured
/// graphs, Rematlas sets the offset of this state.
class GeneratorForCapture {
  public:
    explicit GeneratorForCapture(c10::DeviceIndex index);
    ~GeneratorForCapture();
    GeneratorForCapture(const GeneratorForCapture&) = delete;
    GeneratorForCapture& operator=(const GeneratorForCapture&) = delete;

    const c10::intrusive_ptr<at::CUDAGeneratorState>& state() const { return state_; }

  private:
    c10::DeviceIndex index_;
    at::Generator before_;
    c10::intrusive_ptr<at::CUDAGeneratorState> state_;
};

}  // namespace rematlas
