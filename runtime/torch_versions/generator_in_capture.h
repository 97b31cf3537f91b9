// The place of a CUDA device's generator in a graph that is captured. Torch keeps it in the generator's state
// up to version 2.11, and in one state for each capture since.
#pragma once

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <cstdint>

namespace rematlas {

/// The next random kernel of the capture on this stream begins so many draws after the state with which the
/// graph is submitted.
inline void place_generator_in_capture(at::CUDAGeneratorState& state, [[maybe_unused]] cudaStream_t stream,
                                       std::uint64_t draws) {
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 12
    state.offset_intragraph_ = draws;
#else
    cudaStreamCaptureStatus status{};
    unsigned long long id = 0;
    C10_CUDA_CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
    state.get_capture_state(id, /*create_if_not_found=*/true)->offset_intragraph_ = draws;
#endif
}

}  // namespace rematlas
