// A CUDA device. This code is in a separate library that is opened only for `--device cuda`, because
// libtorch_cuda takes time and memory to load.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/ScopeExit.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "core/addresses/caching_allocator.h"
#include "runtime/device/cuda/generator.h"
#include "runtime/device/cuda/graphs.h"
#include "runtime/device/cuda/library.h"
#include "runtime/device/cuda/step_allocator.h"

namespace rematlas {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;
using AllocatorConfig = c10::CachingAllocator::AcceleratorAllocatorConfig;

/// Events on the compute stream. They are made in advance, because making an event takes as long as a small
/// kernel.
class CudaMarks final : public Marks {
  public:
    CudaMarks(c10::DeviceIndex index, std::size_t most) : index_(index), events_(most) {
        for (cudaEvent_t& event : events_) C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDefault));
    }
    ~CudaMarks() override {
        for (cudaEvent_t event : events_) C10_CUDA_CHECK_WARN(cudaEventDestroy(event));
    }
    CudaMarks(const CudaMarks&) = delete;
    CudaMarks& operator=(const CudaMarks&) = delete;

    void place() override {
        C10_CUDA_CHECK(cudaEventRecord(events_.at(placed_), c10::cuda::getCurrentCUDAStream(index_)));
        ++placed_;
    }
    /// Sums the times between neighbouring marks: CUDA returns milliseconds as a float, which would not
    /// resolve microseconds in the time of a long step.
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
    c10::DeviceIndex index_;
    std::vector<cudaEvent_t> events_;
    std::size_t placed_ = 0;
};

/// Returns the reason if Rematlas cannot predict to which sizes the allocator rounds blocks.
std::optional<std::string> unknown_allocator() {
    if (caching::name() != "native")
        return "the allocator " + caching::name() +
               " (PYTORCH_CUDA_ALLOC_CONF=backend:...) rounds requests in ways that are not known; plans "
               "need the native one";
    const auto divisions = AllocatorConfig::roundup_power2_divisions();
    if (std::any_of(divisions.begin(), divisions.end(), [](std::size_t value) { return value > 1; }))
        return "PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions makes tensors take more than their bytes, "
               "which plans do not foresee; leave it out";
    if (std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING"))
        return "PYTORCH_NO_CUDA_MEMORY_CACHING=1: without libtorch's allocator nobody counts the bytes; "
               "unset it";
    return std::nullopt;
}

class CudaRuntime final : public DeviceRuntime {
  public:
    CudaRuntime(c10::DeviceIndex index, const DeviceOptions& options, std::unique_ptr<DeviceRuntime> host,
                const StepMemoryCalls& calls)
        : index_(index), own_process_(options.own_process), host_(std::move(host)) {
        const bool ours = own_process_ && c10::CachingAllocator::getAllocatorSettings().empty();
        // In expandable segments the allocator splits every block. So a request takes its bytes rounded up to
        // 512, and the peak that is predicted from sizes is exact. Settings of the user are not changed.
        if (ours) c10::CachingAllocator::setAllocatorSettings("expandable_segments:True");
        at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
        if (const auto why_not = unknown_allocator()) TORCH_CHECK(false, *why_not);
        stand_before_allocator(cuda_granularity, calls);
        if (own_process_) {
            KernelSettings::strict().put_in_force();
            c10::cuda::set_device(index_);
            // Everything runs on one stream of the pool: graphs cannot be captured on the default stream, and
            // one stream means one workspace for each library.
            c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index_));
        }
        try {
            prepare();
        } catch (const c10::OutOfMemoryError&) {
            throw;
        } catch (const c10::Error&) {  // some virtual machines cannot expand segments
            if (!ours) throw;
            c10::CachingAllocator::setAllocatorSettings("expandable_segments:False");
            prepare();
        }
        std::size_t free = 0, total = 0;
        const c10::cuda::CUDAGuard guard(index_);
        C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
        // This number includes memory that other processes hold now. It is not updated later.
        context_bytes_ =
            std::max<std::int64_t>(0, static_cast<std::int64_t>(total - free) - reserved_bytes());
    }

    c10::Device device() const override { return {c10::DeviceType::CUDA, index_}; }
    std::string name() const override { return at::cuda::getDeviceProperties(index_)->name; }
    int multiprocessors() const override {
        return at::cuda::getDeviceProperties(index_)->multiProcessorCount;
    }

    std::int64_t alive_bytes() const override {
        return caching::getDeviceStats(index_).allocated_bytes[aggregate].current;
    }
    std::int64_t peak_bytes() const override { return measured_peak(index_); }
    void reset_peak() override { reset_measured_peak(index_); }
    std::int64_t take_step_peak() override { return rematlas::take_step_peak(index_); }
    bool measures_unseen() const override { return own_process_; }
    std::int64_t reserved_bytes() const override {
        return caching::getDeviceStats(index_).reserved_bytes[aggregate].current;
    }
    std::int64_t available_bytes() const override {
        std::size_t free = 0, total = 0;
        const c10::cuda::CUDAGuard guard(index_);
        C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
        return static_cast<std::int64_t>(free) + reserved_bytes() - bytes_of_segments_in_use();
    }
    std::int64_t context_bytes() const override { return context_bytes_; }
    /// Counts only the active bytes of an expandable segment, because its gaps are filled before it grows.
    /// Counts all bytes of other segments, because their gaps may be too small for later requests.
    std::int64_t bytes_of_segments_in_use() const override {
        std::int64_t bytes = 0;
        for (const auto& segment : caching::snapshot({0, 0}, /*include_traces=*/false).segments)
            if (segment.device == index_ && segment.active_size > 0)
                bytes += static_cast<std::int64_t>(segment.is_expandable ? segment.active_size
                                                                         : segment.total_size);
        return bytes;
    }
    void trim() override { caching::emptyCache(); }
    /// Asks the driver where the memory is, because code that evicts or shares memory hides the allocator's
    /// deleter.
    bool counts(const c10::DataPtr& memory) const override {
        if (!memory) return true;
        cudaPointerAttributes attributes{};
        C10_CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory.get()));
        return attributes.type != cudaMemoryTypeHost && attributes.type != cudaMemoryTypeUnregistered;
    }
    std::int64_t footprint(std::int64_t bytes) const override {
        return (bytes + cuda_granularity - 1) / cuda_granularity * cuda_granularity;
    }
    /// The allocator splits a block of a large segment only if the rest is larger than 1 MiB. For a request
    /// of at least `max_split_size` it splits no block, but takes a block that is only a little larger.
    std::int64_t most_footprint(std::int64_t bytes) const override {
        constexpr std::int64_t small = 1 << 20;
        if (bytes <= small || AllocatorConfig::use_expandable_segments()) return footprint(bytes);
        const bool unsplit = static_cast<std::size_t>(bytes) >= AllocatorConfig::max_split_size();
        return footprint(bytes) +
               (unsplit ? static_cast<std::int64_t>(AllocatorConfig::max_non_split_rounding_size()) : small);
    }
    LooseBlocks loose_blocks() const override {
        constexpr std::int64_t large = 2 << 20;
        const std::int64_t slack = most_footprint(large) - footprint(large);
        if (slack == 0) return {};
        LooseBlocks blocks = large_blocks(index_);
        blocks.slack = slack;
        return blocks;
    }
    std::int64_t library_workspace() const override {
        const std::lock_guard lock(prepares_);
        const auto found = workspaces_.find(c10::cuda::getCurrentCUDAStream(index_).id());
        return found == workspaces_.end() ? 0 : found->second;
    }
    std::string product_workspace() const override {
        constexpr std::int64_t least_of_a_library = 1 << 16;  // bytes; a workspace of cuBLAS is larger, all
                                                              // other libraries together keep less
        if (library_workspace() >= least_of_a_library) return {};
        const char* const asked = std::getenv("CUBLAS_WORKSPACE_CONFIG");
        return asked ? asked : "unset";
    }
    Device description() const override {
        return {
            .name = name(),
            .memory = Bytes(static_cast<std::int64_t>(at::cuda::getDeviceProperties(index_)->totalGlobalMem)),
            .kind = "cuda",
            .alignment = cuda_granularity,
            .allocator = CachingAllocatorOptions{
                .expandable_segments = AllocatorConfig::use_expandable_segments(),
                .large_segment = static_cast<std::int64_t>(AllocatorConfig::large_segment_size())}};
    }
    std::optional<KernelSettings> settings() const override { return KernelSettings::of_process(); }
    void put_in_force(const KernelSettings& settings) override {
        TORCH_CHECK(own_process_, "the settings are the caller's");
        settings.put_in_force();
    }

    /// cuBLAS and cuBLASLt take their workspaces when a thread first calls them on a stream, and keep them.
    /// Autograd runs backwards on its own thread, so both threads call the libraries here.
    void prepare() override {
        const c10::cuda::CUDAGuard guard(index_);
        const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream(index_);
        thread_local std::set<std::pair<c10::DeviceIndex, c10::StreamId>> prepared;
        if (prepared.contains({index_, stream.id()})) return;
        const std::lock_guard lock(prepares_);
        if (workspaces_.contains(stream.id())) {
            take_workspaces_of_thread();
            prepared.emplace(index_, stream.id());
            return;
        }
        const std::int64_t before = alive_bytes();
        {
            const c10::AutoGradMode with_history(true);
            const auto options = c10::TensorOptions().dtype(c10::ScalarType::Float).device(device());
            const at::Tensor matrix = at::ones({64, 64}, options).requires_grad_();
            const at::Tensor bias = at::ones({64}, options).requires_grad_();
            const at::Tensor product = at::addmm(bias, at::mm(matrix, matrix), matrix);
            torch::autograd::grad({product}, {matrix}, {at::ones_like(product)});
        }
        stream.synchronize();
        settle();
        if (own_process_ && !place_of_generator_)
            place_of_generator_ = std::make_shared<PlaceOfGenerator>(device());
        workspaces_[stream.id()] = alive_bytes() - before;
        prepared.emplace(index_, stream.id());
    }

    std::optional<ArenaMemory> arena_memory() override { return device_arena_memory(index_); }
    std::int64_t queue() const override { return c10::cuda::getCurrentCUDAStream(index_).id(); }

    void synchronize() override {
        const c10::cuda::CUDAGuard guard(index_);
        c10::cuda::device_synchronize();
    }
    std::int64_t now() override {
        synchronize();
        return std::chrono::steady_clock::now().time_since_epoch().count();
    }
    std::unique_ptr<Marks> marks(std::size_t most) override {
        const c10::cuda::CUDAGuard guard(index_);
        return std::make_unique<CudaMarks>(index_, most);
    }

    std::unique_ptr<GeneratorState> generator_state() const override {
        return generator_state_of(index_, *host_);
    }
    void set_generator_state(const GeneratorState& saved) override {
        set_generator_state_of(index_, *host_, saved);
    }
    void seed_generator(std::uint64_t seed) override {
        at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(index_);
        {
            const std::lock_guard lock(generator.mutex());
            generator.set_current_seed(seed);
        }
        host_->seed_generator(seed);
    }

    void copy(c10::Storage& to, const c10::Storage& from) override {
        if (to.device().is_cpu() && from.device().is_cpu()) return host_->copy(to, from);
        const c10::cuda::CUDAGuard guard(index_);
        C10_CUDA_CHECK(cudaMemcpyAsync(to.mutable_data(), from.data(), from.nbytes(), cudaMemcpyDefault,
                                       c10::cuda::getCurrentCUDAStream(index_)));
    }

    bool can_capture_graphs() const override { return true; }

    std::unique_ptr<DeviceGraphs> capture_graphs(std::span<const std::function<void()>> parts) override {
        const c10::cuda::CUDAGuard guard(index_);
        synchronize();
        caching::emptyCache();  // releases free memory, because graphs allocate from a separate pool
        const c10::cuda::CUDAStream current = c10::cuda::getCurrentCUDAStream(index_);
        const bool is_default = current == c10::cuda::getDefaultCUDAStream(index_);
        const c10::cuda::CUDAStreamGuard stream(is_default ? c10::cuda::getStreamFromPool(false, index_)
                                                           : current);
        prepare();
        if (!place_of_generator_) place_of_generator_ = std::make_shared<PlaceOfGenerator>(device());
        const GeneratorForCapture generator(index_);
        auto graphs = std::make_unique<CudaGraphs>(index_, generator.state(), place_of_generator_);
        capturing_ = graphs.get();
        const auto done = c10::make_scope_exit([this] { capturing_ = nullptr; });
        for (const std::function<void()>& part : parts) graphs->capture(part);
        synchronize();
        return graphs;
    }
    void place_generator(std::int64_t draws) override {
        TORCH_CHECK(capturing_, "no graphs are captured");
        capturing_->place_generator(static_cast<std::uint64_t>(draws));
    }

  private:
    static constexpr auto aggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

    /// Makes the libraries take their workspaces for this thread, after another thread has prepared the
    /// stream. cuBLASLt takes a workspace for products with a bias, which occur in forwards.
    static void take_workspaces_of_thread() {
        at::cuda::getCurrentCUDABlasHandle();
        if (torch::autograd::get_current_node()) return;
        auto& [workspaces, mutex] = at::cuda::cublaslt_handle_stream_to_workspace();
        const bool are_taken = [&] {
            const std::shared_lock lock(mutex);
            return !workspaces.empty();
        }();
        if (are_taken) at::cuda::getCUDABlasLtWorkspace();
    }

    /// Waits until autograd's thread has freed its last tensors.
    void settle() const {
        std::int64_t least = alive_bytes();
        for (int unchanged = 0; unchanged < 20; ++unchanged) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (alive_bytes() < least) least = alive_bytes(), unchanged = 0;
        }
    }

    c10::DeviceIndex index_;
    bool own_process_;
    std::unique_ptr<DeviceRuntime> host_;  ///< random ops on host tensors draw from the host's generator
    mutable std::mutex prepares_;
    std::map<c10::StreamId, std::int64_t> workspaces_;  ///< bytes of the libraries' workspaces, by stream
    std::shared_ptr<PlaceOfGenerator> place_of_generator_;
    std::int64_t context_bytes_ = 0;
    CudaGraphs* capturing_ = nullptr;
};

}  // namespace

extern "C" DeviceRuntime* rematlas_open_cuda(int index, const DeviceOptions* options, DeviceRuntime* host,
                                             const StepMemoryCalls* calls, std::string* why_not) {
    std::unique_ptr<DeviceRuntime> owned(host);
    try {
        const int count = c10::cuda::device_count();
        if (count == 0) {
            *why_not = "no CUDA device, or no driver (rematlas doctor tells more)";
            return nullptr;
        }
        const int chosen = index < 0 ? c10::cuda::current_device() : index;
        if (chosen >= count) {
            *why_not =
                "there is no device " + std::to_string(chosen) + ", there are " + std::to_string(count);
            return nullptr;
        }
        return new CudaRuntime(static_cast<c10::DeviceIndex>(chosen), *options, std::move(owned), *calls);
    } catch (const std::exception& error) {
        *why_not = error.what();
        return nullptr;
    }
}

}  // namespace rematlas
