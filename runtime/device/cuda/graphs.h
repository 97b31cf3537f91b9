// CUDA graphs: the parts of a step, captured once and submitted as often as wanted.
#pragma once

#include <ATen/cuda/CUDAGraph.h>

#include <functional>
#include <memory>
#include <vector>

#include "runtime/device/cuda/generator.h"
#include "runtime/device/device.h"

namespace rematlas {

/// The seed and offset of captured graphs lie in pairs of tensors that libtorch makes when it captures. Until
/// then, and afterwards, these keep their place, so that a step takes the same bytes with and without graphs.
class PlaceOfGenerator {
  public:
    explicit PlaceOfGenerator(c10::Device device) : device_(device) { leave(0); }
    /// Keeps the places of all pairs but so many, which libtorch has or is about to make.
    void leave(int pairs);

  private:
    c10::Device device_;
    std::vector<at::Tensor> tensors_;
};

/// One graph a part, all in one pool of memory: the parts are submitted in the order they were captured in.
class CudaGraphs final : public DeviceGraphs {
  public:
    CudaGraphs(c10::DeviceIndex index, c10::intrusive_ptr<at::CUDAGeneratorState> state,
               std::shared_ptr<PlaceOfGenerator> place);
    ~CudaGraphs() override;
    CudaGraphs(const CudaGraphs&) = delete;
    CudaGraphs& operator=(const CudaGraphs&) = delete;

    /// Throws what the part throws; nothing of it is left then.
    void capture(const std::function<void()>& part);
    /// Within `capture`: the next random kernel begins so many draws after the generator's state at `submit`.
    void place_generator(std::uint64_t draws);
    void submit(std::size_t part) override;

  private:
    void abandon(at::cuda::CUDAGraph& graph);
    void make_room_for_pair() { place_->leave(++pairs_); }

    c10::DeviceIndex index_;
    at::cuda::MempoolId_t pool_ = at::cuda::graph_pool_handle();
    c10::intrusive_ptr<at::CUDAGeneratorState> state_;
    std::shared_ptr<PlaceOfGenerator> place_;
    int pairs_ = 0;  ///< that libtorch has made for them
    std::vector<std::unique_ptr<at::cuda::CUDAGraph>> graphs_;
};

}  // namespace rematlas
