#include "runtime/device/copies.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <sys/mman.h>

#include <vector>

#include "runtime/device/cuda/library.h"

namespace rematlas {
namespace {

class CudaCopies final : public CopyLanes {
  public:
    explicit CudaCopies(c10::DeviceIndex index)
        : index_(index),
          in_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, index)),
          out_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, index)) {}
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
    Mark record(Lane lane) override {
        const c10::cuda::CUDAGuard guard(index_);
        if (free_.empty()) {
            cudaEvent_t event = nullptr;
            C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
            events_.push_back(event);
            free_.push_back(static_cast<Mark>(events_.size() - 1));
        }
        const Mark mark = free_.back();
        C10_CUDA_CHECK(cudaEventRecord(event_of(mark), stream_of(lane)));
        free_.pop_back();
        return mark;
    }
    void wait(Lane lane, Mark mark) override {
        const c10::cuda::CUDAGuard guard(index_);
        C10_CUDA_CHECK(cudaStreamWaitEvent(stream_of(lane), event_of(mark), 0));
    }
    void release(Mark mark) override { free_.push_back(mark); }
    void synchronize(Lane lane) override { stream_of(lane).synchronize(); }

  private:
    void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
              const c10::cuda::CUDAStream& stream) {
        const c10::cuda::CUDAGuard guard(index_);
        C10_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream));
    }
    c10::cuda::CUDAStream stream_of(Lane lane) const {
        if (lane == Lane::compute) return c10::cuda::getCurrentCUDAStream(index_);
        return lane == Lane::in ? in_ : out_;
    }
    cudaEvent_t event_of(Mark mark) const { return events_.at(static_cast<std::size_t>(mark)); }

    c10::DeviceIndex index_;
    c10::cuda::CUDAStream in_, out_;
    std::vector<cudaEvent_t> events_;
    std::vector<Mark> free_;
};

class CudaSlab final : public PinnedSlab {
  public:
    explicit CudaSlab(std::size_t bytes) : bytes_(bytes) {
        data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        TORCH_CHECK(data_ != MAP_FAILED, "no ", bytes, " bytes of host memory");
        if (const cudaError_t error = cudaHostRegister(data_, bytes, cudaHostRegisterDefault);
            error != cudaSuccess) {
            munmap(data_, bytes);
            (void)cudaGetLastError();
            TORCH_CHECK(false, bytes, " bytes of host memory cannot be pinned: ", cudaGetErrorString(error));
        }
    }
    ~CudaSlab() override {
        C10_CUDA_CHECK_WARN(cudaHostUnregister(data_));
        munmap(data_, bytes_);
    }
    CudaSlab(const CudaSlab&) = delete;
    CudaSlab& operator=(const CudaSlab&) = delete;
    void* data() const override { return data_; }
    std::size_t bytes() const override { return bytes_; }

  private:
    void* data_ = nullptr;
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

extern "C" CopyLanes* rematlas_open_copies(DeviceRuntime* device, std::string* why_not) {
    return made_or_why<CudaCopies>(why_not, device->device().index());
}

extern "C" PinnedSlab* rematlas_open_slab(std::size_t bytes, std::string* why_not) {
    return made_or_why<CudaSlab>(why_not, bytes);
}

}  // namespace rematlas
