// A CUDA device. Lives in a library of its own that is opened for `--device cuda`: libtorch_cuda takes time
// and memory to load.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>

#include "core/addresses/caching_allocator.h"
#include "runtime/device/cuda_library.h"
#include "runtime/device/device.h"

namespace rematlas {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;
using AllocatorConfig = c10::CachingAllocator::AcceleratorAllocatorConfig;

constexpr c10::DeviceIndex index = 0;

const at::Generator& default_generator() {
    return at::cuda::detail::getDefaultCUDAGenerator(index);
}

/// Philox counts: a seed, and an offset that every random kernel moves by a number known from its shape.
struct CudaGeneratorState final : GeneratorState {
    std::uint64_t seed = 0, offset = 0;

    bool equals(const GeneratorState& other) const override {
        const auto& state = dynamic_cast<const CudaGeneratorState&>(other);
        return seed == state.seed && offset == state.offset;
    }
    std::uint64_t digest() const override {
        return (seed * 0x9e3779b97f4a7c15u) ^ (offset * 0xff51afd7ed558ccdu);
    }
    std::optional<std::int64_t> distance_to(const GeneratorState& later) const override {
        const auto& state = dynamic_cast<const CudaGeneratorState&>(later);
        if (seed != state.seed || state.offset < offset) return std::nullopt;
        return static_cast<std::int64_t>(state.offset - offset);
    }
    void advance(std::int64_t draws) override { offset += static_cast<std::uint64_t>(draws); }
};

/// Events on the compute stream. Made beforehand: making one takes as long as a small kernel.
class CudaMarks final : public Marks {
  public:
    explicit CudaMarks(std::size_t most) : events_(most) {
        for (cudaEvent_t& event : events_) C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDefault));
    }
    ~CudaMarks() override {
        for (cudaEvent_t event : events_) C10_CUDA_CHECK_WARN(cudaEventDestroy(event));
    }
    CudaMarks(const CudaMarks&) = delete;
    CudaMarks& operator=(const CudaMarks&) = delete;

    void place() override {
        C10_CUDA_CHECK(cudaEventRecord(events_.at(placed_), c10::cuda::getCurrentCUDAStream(index)));
        ++placed_;
    }
    /// Sums of neighbours' distances: milliseconds in a float would lose microseconds of a long step.
    std::vector<std::int64_t> read() override {
        if (placed_ > 0) C10_CUDA_CHECK(cudaEventSynchronize(events_[placed_ - 1]));
        std::vector<std::int64_t> times(placed_, 0);
        double nanoseconds = 0;
        for (std::size_t i = 1; i < placed_; ++i) {
            float milliseconds = 0;
            C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events_[i - 1], events_[i]));
            nanoseconds += std::max(0.0, double(milliseconds) * 1e6);
            times[i] = std::llround(nanoseconds);
        }
        return times;
    }

  private:
    std::vector<cudaEvent_t> events_;
    std::size_t placed_ = 0;
};

/// While it lives, the default generator draws from a state of our own, whose place in the recording we set.
class GeneratorForRecording {
  public:
    GeneratorForRecording() : before_(default_generator().graphsafe_get_state()) {
        std::uint64_t seed, offset;
        {
            at::Generator generator = default_generator();
            std::lock_guard lock(generator.mutex());
            seed = generator.current_seed(), offset = generator.get_offset();
        }
        state_ = c10::make_intrusive<at::CUDAGeneratorState>(seed, offset, 0);
        at::Generator(default_generator())
            .graphsafe_set_state(at::make_generator<at::CUDAGeneratorImpl>(index, state_));
    }
    ~GeneratorForRecording() { at::Generator(default_generator()).graphsafe_set_state(before_); }
    GeneratorForRecording(const GeneratorForRecording&) = delete;
    GeneratorForRecording& operator=(const GeneratorForRecording&) = delete;

    const c10::intrusive_ptr<at::CUDAGeneratorState>& state() const { return state_; }

  private:
    at::Generator before_;
    c10::intrusive_ptr<at::CUDAGeneratorState> state_;
};

/// One CUDA graph a part, all in one pool of memory: the parts are submitted in the order they were recorded
/// in.
class CudaGraphs final : public RecordedWork {
  public:
    void record(const std::function<void()>& part) {
        at::cuda::CUDAGraph& graph = *graphs_.emplace_back(std::make_unique<at::cuda::CUDAGraph>());
        graph.capture_begin(pool_);
        try {
            part();
        } catch (...) {
            abandon(graph);
            throw;
        }
        graph.capture_end();
    }

    void submit(std::size_t part) override {
        {
            at::Generator generator = default_generator();
            std::lock_guard lock(generator.mutex());
            state_->seed_ = generator.current_seed();
            state_->philox_offset_per_thread_ = generator.get_offset();
        }
        graphs_.at(part)->replay();
    }

    void set_state(c10::intrusive_ptr<at::CUDAGeneratorState> state) { state_ = std::move(state); }

  private:
    /// The stream must leave its capturing mode, and the allocator the pool, also after an error.
    static void abandon(at::cuda::CUDAGraph& graph) {
        try {
            graph.capture_end();
        } catch (const std::exception&) {
            try {
                caching::endAllocateToPool(index, graph.pool());
            } catch (const std::exception&) {
            }
            (void)cudaGetLastError();
        }
    }

    at::cuda::MempoolId_t pool_ = at::cuda::graph_pool_handle();
    c10::intrusive_ptr<at::CUDAGeneratorState> state_;
    std::vector<std::unique_ptr<at::cuda::CUDAGraph>> graphs_;
};

class CudaRuntime final : public DeviceRuntime {
  public:
    explicit CudaRuntime(const DeviceOptions& options) {
        // Expandable segments split every block: what is handed out is then what was asked for in granules of
        // 512 bytes, and the peak that is predicted from sizes alone is exact. A setting of the user's stays.
        const bool ours = c10::CachingAllocator::getAllocatorSettings().empty();
        if (ours) c10::CachingAllocator::setAllocatorSettings("expandable_segments:True");
        at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
        if (options.deterministic) {
            at::globalContext().setBenchmarkCuDNN(false);
            at::globalContext().setDeterministicCuDNN(true);
            at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
            // It would fill all that `empty` makes: a kernel more for many ops.
            at::globalContext().setDeterministicFillUninitializedMemory(false);
        }
        // Graphs cannot be captured on the default stream, and libraries keep a workspace for each stream.
        if (options.own_stream)
            c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index));
        try {
            warm_up();
        } catch (const c10::Error&) {  // drivers of some virtual machines cannot map memory piece by piece
            if (!ours) throw;
            c10::CachingAllocator::setAllocatorSettings("expandable_segments:False");
            warm_up();
        }
    }

    c10::Device device() const override { return {c10::DeviceType::CUDA, index}; }
    std::string name() const override { return at::cuda::getDeviceProperties(index)->name; }

    std::int64_t alive_bytes() const override { return allocated().current; }
    std::int64_t peak_bytes() const override { return allocated().peak; }
    void reset_peak() override { caching::resetPeakStats(index); }
    std::int64_t footprint(std::int64_t bytes) const override {
        return (bytes + cuda_granularity - 1) / cuda_granularity * cuda_granularity;
    }
    std::int64_t library_workspace() const override { return library_workspace_; }
    Device description() const override {
        return {
            .name = name(),
            .memory = Bytes(static_cast<std::int64_t>(at::cuda::getDeviceProperties(index)->totalGlobalMem)),
            .kind = "cuda",
            .alignment = cuda_granularity,
            .allocator = CachingAllocatorOptions{
                .expandable_segments = AllocatorConfig::use_expandable_segments(),
                .large_segment = static_cast<std::int64_t>(AllocatorConfig::large_segment_size())}};
    }

    void synchronize() override { c10::cuda::device_synchronize(); }
    std::int64_t now() override {
        synchronize();
        return std::chrono::steady_clock::now().time_since_epoch().count();
    }
    std::unique_ptr<Marks> marks(std::size_t most) override { return std::make_unique<CudaMarks>(most); }

    std::unique_ptr<GeneratorState> generator_state() const override {
        at::Generator generator = default_generator();
        std::lock_guard lock(generator.mutex());
        auto state = std::make_unique<CudaGeneratorState>();
        state->seed = generator.current_seed();
        state->offset = generator.get_offset();
        return state;
    }
    void set_generator_state(const GeneratorState& saved) override {
        const auto& state = dynamic_cast<const CudaGeneratorState&>(saved);
        at::Generator generator = default_generator();
        std::lock_guard lock(generator.mutex());
        generator.set_current_seed(state.seed);
        generator.set_offset(state.offset);
    }
    void seed_generator(std::uint64_t seed) override {
        at::Generator generator = default_generator();
        std::lock_guard lock(generator.mutex());
        generator.set_current_seed(seed);
    }

    void copy(c10::Storage& to, const c10::Storage& from) override {
        C10_CUDA_CHECK(cudaMemcpyAsync(to.mutable_data(), from.data(), from.nbytes(),
                                       cudaMemcpyDeviceToDevice, c10::cuda::getCurrentCUDAStream(index)));
    }

    bool can_record() const override { return true; }

    std::unique_ptr<RecordedWork> record(std::span<const std::function<void()>> parts) override {
        synchronize();
        caching::emptyCache();  // the recording has a pool of its own
        const c10::cuda::CUDAStream current = c10::cuda::getCurrentCUDAStream(index);
        const bool is_default = current == c10::cuda::getDefaultCUDAStream(index);
        const c10::cuda::CUDAStreamGuard stream(is_default ? c10::cuda::getStreamFromPool(false, index)
                                                           : current);
        auto work = std::make_unique<CudaGraphs>();
        const GeneratorForRecording generator;
        work->set_state(generator.state());
        recording_ = generator.state().get();
        try {
            for (const std::function<void()>& part : parts) work->record(part);
        } catch (...) {
            recording_ = nullptr;
            throw;
        }
        recording_ = nullptr;
        synchronize();
        return work;
    }
    void place_generator(std::int64_t draws) override {
        TORCH_CHECK(recording_, "nothing is recorded");
        recording_->offset_intragraph_ = static_cast<std::uint64_t>(draws);
    }

  private:
    static c10::CachingAllocator::Stat allocated() {
        const auto stats = caching::getDeviceStats(index);
        return stats.allocated_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
    }

    /// cuBLAS and cuBLASLt take their workspaces at their first call on a stream, and keep them.
    void warm_up() {
        const std::int64_t before = alive_bytes();
        {
            const auto options = c10::TensorOptions().dtype(c10::ScalarType::Float).device(device());
            const at::Tensor matrix = at::ones({64, 64}, options);
            at::addmm(at::ones({64}, options), at::mm(matrix, matrix), matrix);
        }
        synchronize();
        library_workspace_ = alive_bytes() - before;
    }

    std::int64_t library_workspace_ = 0;
    at::CUDAGeneratorState* recording_ = nullptr;
};

}  // namespace

extern "C" DeviceRuntime* rematlas_open_cuda(const DeviceOptions* options, std::string* why_not) {
    try {
        if (c10::cuda::device_count() == 0) {
            *why_not = "no CUDA device, or no driver";
            return nullptr;
        }
        return new CudaRuntime(*options);
    } catch (const std::exception& error) {
        *why_not = error.what();
        return nullptr;
    }
}

}  // namespace rematlas
