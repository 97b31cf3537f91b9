// CUDA graphs: the parts of a step are captured once and can be submitted any number of times.
#pragma once

#include <ATen/cuda/CUDAGraph.h>

#include <functional>
#include <memory>
#include <vector>

#include "runtime/device/cuda/generator.h"
#include "runtime/device/device.h"

namespace rematlas {

/// Reserves memory for the tensors from which captured graphs read the state of the random number generator.
/// When libtorch captures a graph, it may make a pair of such tensors: a seed and an offset. Until libtorch
/// has made all pairs, an object of this class holds placeholder tensors of the same size. So a step takes
/// the same memory with and without graphs.
class PlaceOfGenerator {
  public:
    explicit PlaceOfGenerator(c10::Device device) : device_(device) { leave(0); }
    /// Keeps the memory for all pairs except for `pairs` of them, which libtorch has made or is about to
    /// make.
    void leave(int pairs);

  private:
    c10::Device device_;
    std::vector<at::Tensor> tensors_;
};

/// One graph for each part, all in one memory pool. The parts must be submitted in the order of their
/// capture.
class CudaGraphs final : public DeviceGraphs {
  public:
    CudaGraphs(c10::DeviceIndex index, c10::intrusive_ptr<at::CUDAGeneratorState> state,
               std::shared_ptr<PlaceOfGenerator> place);
    ~CudaGraphs() override;
    CudaGraphs(const CudaGraphs&) = delete;
    CudaGraphs& operator=(const CudaGraphs&) = delete;

    /// Captures a part. If the part throws, ends the capture and throws the same exception.
    void capture(const std::function<void()>& part);
    /// May be called only within `capture`. The next random kernel draws as if the generator had made `draws`
    /// draws since `submit`.
    void place_generator(std::uint64_t draws);
    void submit(std::size_t part) override;

  private:
    void abandon(at::cuda::CUDAGraph& graph);
    void make_room_for_pair() { place_->leave(++pairs_); }

    c10::DeviceIndex index_;
    at::cuda::MempoolId_t pool_ = at::cuda::graph_pool_handle();
    c10::intrusive_ptr<at::CUDAGeneratorState> state_;
    std::shared_ptr<PlaceOfGenerator> place_;
    int pairs_ = 0;  ///< number of pairs that libtorch has made for the graphs
    std::vector<std::unique_ptr<at::cuda::CUDAGraph>> graphs_;
};

}  // namespace rematlas
