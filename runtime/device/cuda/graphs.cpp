#include "runtime/device/cuda/graphs.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>

#include "runtime/torch_versions/generator_in_capture.h"

namespace rematlas {

void PlaceOfGenerator::leave(int pairs) {
    const auto kept = static_cast<std::size_t>(2 * std::max(most_generator_pairs - pairs, 0));
    const auto numbers = c10::TensorOptions().dtype(c10::ScalarType::Long).device(device_);
    if (tensors_.size() > kept) tensors_.resize(kept);
    while (tensors_.size() < kept) tensors_.push_back(at::empty({1}, numbers));
}

CudaGraphs::CudaGraphs(c10::DeviceIndex index, c10::intrusive_ptr<at::CUDAGeneratorState> state,
                       std::shared_ptr<PlaceOfGenerator> place)
    : index_(index), state_(std::move(state)), place_(std::move(place)) {}

CudaGraphs::~CudaGraphs() {
    graphs_.clear();
    state_ = nullptr;
    try {
        place_->leave(0);
    } catch (const std::exception&) {  // thrown only if the device has failed
    }
}

void CudaGraphs::capture(const std::function<void()>& part) {
    if (captures_begin_with_a_pair && graphs_.empty()) make_room_for_pair();
    at::cuda::CUDAGraph& graph = *graphs_.emplace_back(std::make_unique<at::cuda::CUDAGraph>());
    // In this mode, other threads of the process can make CUDA calls that a capture forbids.
    graph.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    try {
        part();
    } catch (...) {
        abandon(graph);
        throw;
    }
    graph.capture_end();
}

/// Ends a capture after an error, so that the stream leaves capturing mode. If `capture_end` throws, does the
/// rest of its work: the allocator no longer allocates from the pool, and the incomplete graph no longer
/// counts as a user of the pool.
void CudaGraphs::abandon(at::cuda::CUDAGraph& graph) {
    try {
        graph.capture_end();
        return;
    } catch (const std::exception&) {
    }
    (void)cudaGetLastError();
    namespace caching = c10::cuda::CUDACachingAllocator;
    caching::endAllocateToPool(index_, pool_);
    caching::releasePool(index_, pool_);
}

void CudaGraphs::place_generator(std::uint64_t draws) {
    place_generator_in_capture(index_, *state_, c10::cuda::getCurrentCUDAStream(index_), draws,
                               [this] { make_room_for_pair(); });
}

void CudaGraphs::submit(std::size_t part) {
    const c10::cuda::CUDAGuard guard(index_);
    const Philox now = philox_of(index_);
    state_->seed_ = now.seed;
    state_->philox_offset_per_thread_ = now.offset;
    graphs_.at(part)->replay();
}

}  // namespace rematlas
