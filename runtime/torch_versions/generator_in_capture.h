// The position of a CUDA device's generator in a graph that is being captured. Up to version 2.11 torch keeps
// this position in the generator's state; from 2.12 on, in a separate state for each capture.
#pragma once

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <cstdint>
#include <mutex>

namespace rematlas {

/// The largest number of pairs of tensors (a seed and an offset) that the graphs of a training step need. Up
/// to version 2.11 all graphs share one pair, which is made when the first capture begins. From 2.12 on,
/// each of the two graphs makes a pair before its first random kernel.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 12
constexpr int most_generator_pairs = 1;
constexpr bool captures_begin_with_a_pair = true;
#else
constexpr int most_generator_pairs = 2;
constexpr bool captures_begin_with_a_pair = false;
#endif

/// Sets the position at which the next random kernel of the capture on this stream begins to draw. This is
/// the position that `advance(draws)` would reach, counted from the generator's state at the time when the
/// graph is submitted. `state` is the state of the device's default generator. `make_room` is called before
/// the capture makes its own pair of tensors.
template <class MakeRoom>
void place_generator_in_capture([[maybe_unused]] c10::DeviceIndex index, at::CUDAGeneratorState& state,
                                [[maybe_unused]] cudaStream_t stream, std::uint64_t draws,
                                [[maybe_unused]] MakeRoom&& make_room) {
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 12
    state.offset_intragraph_ = draws;
#else
    cudaStreamCaptureStatus status{};
    unsigned long long id = 0;
    C10_CUDA_CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
    const auto find = [&] {
        const std::lock_guard lock(state.capture_states_mutex_);
        const auto found = state.capture_states_.find(id);
        return found == state.capture_states_.end() ? nullptr : found->second.get();
    };
    if (!find()) {
        // The generator's state knows a capture only after the capture's first random kernel. So this call
        // announces a random kernel that draws nothing.
        make_room();
        at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(index);
        const std::lock_guard lock(generator.mutex());
        generator.get<at::CUDAGeneratorImpl>()->philox_cuda_state(0);
    }
    auto* const capture = find();
    TORCH_CHECK(capture, "rematlas: torch keeps no state for this capture");
    capture->offset_intragraph_ = draws;
#endif
}

}  // namespace rematlas
