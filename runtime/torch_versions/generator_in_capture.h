// Where the generator of a CUDA device stands in a graph that is captured: in the generator's state up to torch
// 2.11, in one state a capture since.
#pragma once

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <cstdint>

namespace rematlas {

/// The next random kernel of the capture on this stream draws what it would so many draws after the state that the
/// graph is submitted with.
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
