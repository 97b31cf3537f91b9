// A CUDA device. Lives in a library of its own that is opened for `--device cuda`: libtorch_cuda takes time
// and memory to load.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <chrono>
#include <mutex>

#include "runtime/device/cuda_library.h"
#include "runtime/device/device.h"

namespace rematlas {
namespace {

/// Philox counts: a seed, and an offset that every random kernel moves by a number known from its shape.
struct CudaGeneratorState final : GeneratorState {
    std::uint64_t seed = 0, offset = 0;

    bool equals(const GeneratorState& other) const override {
        const auto& state = dynamic_cast<const CudaGeneratorState&>(other);
        return seed == state.seed && offset == state.offset;
    }
    std::optional<std::int64_t> distance_to(const GeneratorState& later) const override {
        const auto& state = dynamic_cast<const CudaGeneratorState&>(later);
        if (seed != state.seed || state.offset < offset) return std::nullopt;
        return static_cast<std::int64_t>(state.offset - offset);
    }
    void advance(std::int64_t draws) override { offset += static_cast<std::uint64_t>(draws); }
};

class CudaRuntime final : public DeviceRuntime {
  public:
    CudaRuntime() {
        at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
        at::globalContext().setBenchmarkCuDNN(false);
        at::globalContext().setDeterministicCuDNN(true);
        at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
    }

    c10::Device device() const override { return {c10::DeviceType::CUDA, 0}; }
    std::string name() const override { return at::cuda::getDeviceProperties(0)->name; }

    /// What tensors asked for: the allocator rounds up.
    std::int64_t alive_bytes() const override { return requested().current; }
    std::int64_t peak_bytes() const override { return requested().peak; }
    void reset_peak() override { c10::cuda::CUDACachingAllocator::resetPeakStats(0); }

    void synchronize() override { c10::cuda::device_synchronize(); }
    std::int64_t now() override {
        synchronize();
        return std::chrono::steady_clock::now().time_since_epoch().count();
    }

    std::unique_ptr<GeneratorState> generator_state() const override {
        at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(0);
        std::lock_guard lock(generator.mutex());
        auto state = std::make_unique<CudaGeneratorState>();
        state->seed = generator.current_seed();
        state->offset = generator.get_offset();
        return state;
    }
    void set_generator_state(const GeneratorState& saved) override {
        const auto& state = dynamic_cast<const CudaGeneratorState&>(saved);
        at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(0);
        std::lock_guard lock(generator.mutex());
        generator.set_current_seed(state.seed);
        generator.set_offset(state.offset);
    }
    void seed_generator(std::uint64_t seed) override {
        at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(0);
        std::lock_guard lock(generator.mutex());
        generator.set_current_seed(seed);
    }

    void copy(c10::Storage& to, const c10::Storage& from) override {
        C10_CUDA_CHECK(cudaMemcpyAsync(to.mutable_data(), from.data(), from.nbytes(),
                                       cudaMemcpyDeviceToDevice, c10::cuda::getCurrentCUDAStream()));
    }

  private:
    static c10::CachingAllocator::Stat requested() {
        const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
        return stats.requested_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
    }
};

}  // namespace

extern "C" DeviceRuntime* rematlas_open_cuda(std::string* why_not) {
    try {
        if (c10::cuda::device_count() == 0) {
            *why_not = "no CUDA device, or no driver";
            return nullptr;
        }
        return new CudaRuntime();
    } catch (const std::exception& error) {
        *why_not = error.what();
        return nullptr;
    }
}

}  // namespace rematlas
