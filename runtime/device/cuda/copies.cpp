#include "runtime/device/copies.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <sys/mman.h>

#include <memory>
#include <utility>
#include <vector>

#include "runtime/device/cuda/library.h"

namespace rematlas {
namespace {

class CudaCopies final : public CopyQueues {
  public:
    explicit CudaCopies(c10::DeviceIndex index)
        : index_(index),
          in_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, index)),
          out_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, index)),
          host_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index)) {}
    ~CudaCopies() override {
        for (cudaEvent_t event : events_) C10_CUDA_CHECK_WARN(cudaEventDestroy(event));
    }
    CudaCopies(const CudaCopies&) = delete;
    CudaCopies& operator=(const CudaCopies&) = delete;

    void copy_out(void* host, const void* device, std::size_t bytes) override {
        copy(host, device, bytes, cudaMemcpyDeviceToHost, out_);
    }
    void copy_in(void* device, const void* host, std::size_t bytes) override {
        copy(device, host, bytes, cudaMemcpyHostToDevice, in_);
    }
    /// `work` runs on a thread of the CUDA driver, in the order of the stream. It must not call CUDA.
    void run(std::function<void()> work) override {
        const c10::cuda::CUDAGuard guard(index_);
        auto call = std::make_unique<std::function<void()>>(std::move(work));
        const auto and_forget = [](void* data) {
            const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(data));
            (*owned)();
        };
        C10_CUDA_CHECK(cudaLaunchHostFunc(host_, and_forget, call.get()));
        (void)call.release();
    }
    Mark mark(CopyQueue queue) override {
        const c10::cuda::CUDAGuard guard(index_);
        if (free_.empty()) {
            cudaEvent_t event = nullptr;
            C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
            events_.push_back(event);
            free_.push_back(static_cast<Mark>(events_.size() - 1));
        }
        const Mark mark = free_.back();
        C10_CUDA_CHECK(cudaEventRecord(event_of(mark), stream_of(queue)));
        free_.pop_back();
        return mark;
    }
    void wait(CopyQueue queue, Mark mark) override {
        const c10::cuda::CUDAGuard guard(index_);
        C10_CUDA_CHECK(cudaStreamWaitEvent(stream_of(queue), event_of(mark), 0));
    }
    void release(Mark mark) override { free_.push_back(mark); }
    void synchronize(CopyQueue queue) override { stream_of(queue).synchronize(); }

  private:
    void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
              const c10::cuda::CUDAStream& stream) {
        const c10::cuda::CUDAGuard guard(index_);
        C10_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream));
    }
    c10::cuda::CUDAStream stream_of(CopyQueue queue) const {
        if (queue == CopyQueue::compute) return c10::cuda::getCurrentCUDAStream(index_);
        if (queue == CopyQueue::host) return host_;
        return queue == CopyQueue::in ? in_ : out_;
    }
    cudaEvent_t event_of(Mark mark) const { return events_.at(static_cast<std::size_t>(mark)); }

    c10::DeviceIndex index_;
    c10::cuda::CUDAStream in_, out_, host_;
    std::vector<cudaEvent_t> events_;
    std::vector<Mark> free_;
};

/// Pinned and mapped memory, which kernels read and write in place.
class CudaSlab final : public PinnedSlab {
  public:
    CudaSlab(c10::DeviceIndex index, std::size_t bytes) : index_(index), bytes_(bytes) {
        data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        TORCH_CHECK(data_ != MAP_FAILED, "no ", bytes,
                    " bytes of host memory for copies: let fewer bytes move there");
        const c10::cuda::CUDAGuard guard(index_);
        cudaError_t error = cudaHostRegister(data_, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
        const bool registered = error == cudaSuccess;
        if (registered) error = cudaHostGetDevicePointer(&device_data_, data_, 0);
        if (error == cudaSuccess) return;
        if (registered) (void)cudaHostUnregister(data_);
        munmap(data_, bytes);
        (void)cudaGetLastError();
        TORCH_CHECK(false, bytes, " bytes of host memory cannot be pinned: ", cudaGetErrorString(error));
    }
    /// Waits for the device, because a tensor in the slab can be freed while a submitted kernel still uses
    /// it. Errors are ignored: at the end of the process the driver perhaps no longer works.
    ~CudaSlab() override {
        const c10::cuda::CUDAGuard guard(index_);
        (void)cudaDeviceSynchronize();
        (void)cudaHostUnregister(data_);
        (void)cudaGetLastError();
        munmap(data_, bytes_);
    }
    CudaSlab(const CudaSlab&) = delete;
    CudaSlab& operator=(const CudaSlab&) = delete;
    void* data() const override { return data_; }
    std::size_t bytes() const override { return bytes_; }
    void* device_data() const override { return device_data_; }

  private:
    c10::DeviceIndex index_;
    void* data_ = nullptr;
    void* device_data_ = nullptr;
    std::size_t bytes_;
};

template <class Made, class... From>
Made* made_or_why(std::string* why_not, From... from) {
    try {
        return new Made(from...);
    } catch (const std::exception& error) {
        *why_not = error.what();
        return nullptr;
    }
}

}  // namespace

extern "C" CopyQueues* rematlas_open_copies(DeviceRuntime* device, std::string* why_not) {
    return made_or_why<CudaCopies>(why_not, device->device().index());
}

extern "C" PinnedSlab* rematlas_open_slab(int index, std::size_t bytes, std::string* why_not) {
    return made_or_why<CudaSlab>(why_not, static_cast<c10::DeviceIndex>(index), bytes);
}

}  // namespace rematlas
