// CUDA graphs: the parts of a step, captured once and submitted as often as wanted.
#pragma once

#include <ATen/cuda/CUDAGraph.h>

#include <functional>
#include <memory>
#include <vector>

#include "runtime/device/cuda/generator.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Keeps memory for the seeds and offsets of captured graphs, which are pairs of tensors that libtorch
/// makes when it captures. Before the capture, and afterwards, tensors of this class take the same bytes,
/// so that a step takes the same bytes with and without graphs.
class PlaceOfGenerator {
  public:
    explicit PlaceOfGenerator(c10::Device device) : device_(device) { leave(0); }
    /// Keeps the memory of all pairs except `pairs`, which libtorch has made or is about to make.
    void leave(int pairs);

  private:
    c10::Device device_;
    std::vector<at::Tensor> tensors_;
};

/// One graph for each part, all in one pool of memory. The parts are submitted in the order in which they
/// were captured.
class CudaGraphs final : public DeviceGraphs {
  public:
    CudaGraphs(c10::DeviceIndex index, c10::intrusive_ptr<at::CUDAGeneratorState> state,
               std::shared_ptr<PlaceOfGenerator> place);
    ~CudaGraphs() override;
    CudaGraphs(const CudaGraphs&) = delete;
    CudaGraphs& operator=(const CudaGraphs&) = delete;

    /// Throws the exceptions of the part; nothing of the part is left then.
    void capture(const std::function<void()>& part);
    /// To be called within `capture`. The next random kernel begins so many draws after the generator's
    /// state at `submit`.
    void place_generator(std::uint64_t draws);
    void submit(std::size_t part) override;

  private:
    void abandon(at::cuda::CUDAGraph& graph);
    void make_room_for_pair() { place_->leave(++pairs_); }

    c10::DeviceIndex index_;
    at::cuda::MempoolId_t pool_ = at::cuda::graph_pool_handle();
    c10::intrusive_ptr<at::CUDAGeneratorState> state_;
    std::shared_ptr<PlaceOfGenerator> place_;
    int pairs_ = 0;  ///< pairs that libtorch has made for the graphs
    std::vector<std::unique_ptr<at::cuda::CUDAGraph>> graphs_;
};

}  // namespace rematlas
