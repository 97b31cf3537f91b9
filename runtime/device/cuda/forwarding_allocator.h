// An allocator of GPU memory that passes every request to another allocator. Allocators that change some
// functions derive from it.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/version.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rematlas {

class ForwardingAllocator : public c10::cuda::CUDACachingAllocator::CUDAAllocator {
  public:
    explicit ForwardingAllocator(CUDAAllocator& own) : own_(own) {}

    bool initialized() override { return own_.initialized(); }
    void emptyCache(c10::MempoolId_t pool) override { own_.emptyCache(pool); }
    void resetAccumulatedStats(c10::DeviceIndex device) override { own_.resetAccumulatedStats(device); }
    std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex device) override {
        return own_.getMemoryInfo(device);
    }
    bool is_simple_data_ptr(const c10::DataPtr& data) const override {
        return data.get() == data.get_context();
    }
    c10::DeleterFnPtr raw_deleter() const override { return own_.raw_deleter(); }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        own_.copy_data(to, from, bytes);
    }
    void init(int count) override { own_.init(count); }
    double getMemoryFraction(c10::DeviceIndex device) override { return own_.getMemoryFraction(device); }
    void setMemoryFraction(double fraction, c10::DeviceIndex device) override {
        own_.setMemoryFraction(fraction, device);
    }
    std::vector<c10::cuda::CUDACachingAllocator::StreamSegmentSize> getExpandableSegmentSizes(
        c10::DeviceIndex device) override {
        return own_.getExpandableSegmentSizes(device);
    }
    void enable(bool value) override { own_.enable(value); }
    bool isEnabled() const override { return own_.isEnabled(); }
    void cacheInfo(c10::DeviceIndex device, std::size_t* largest) override {
        own_.cacheInfo(device, largest);
    }
    void beginAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool,
                             std::function<bool(cudaStream_t)> filter) override {
        own_.beginAllocateToPool(device, pool, std::move(filter));
    }
    void endAllocateToPool(c10::DeviceIndex device, c10::MempoolId_t pool) override {
        own_.endAllocateToPool(device, pool);
    }
    void releasePool(c10::DeviceIndex device, c10::MempoolId_t pool) override {
        own_.releasePool(device, pool);
    }
    int getPoolUseCount(c10::DeviceIndex device, c10::MempoolId_t pool) override {
        return own_.getPoolUseCount(device, pool);
    }
    void createOrIncrefPool(c10::DeviceIndex device, c10::MempoolId_t pool,
                            std::shared_ptr<CUDAAllocator> allocator) override {
        own_.createOrIncrefPool(device, pool, std::move(allocator));
    }
    void setUseOnOOM(c10::DeviceIndex device, c10::MempoolId_t pool, bool use) override {
        own_.setUseOnOOM(device, pool, use);
    }
    void setNoSplit(c10::DeviceIndex device, c10::MempoolId_t pool) override {
        own_.setNoSplit(device, pool);
    }
    bool checkPoolLiveAllocations(c10::DeviceIndex device, c10::MempoolId_t pool,
                                  const std::unordered_set<void*>& expected) override {
        return own_.checkPoolLiveAllocations(device, pool, expected);
    }
    std::shared_ptr<void> getIpcDevPtr(std::string handle) override {
        return own_.getIpcDevPtr(std::move(handle));
    }
    bool isHistoryEnabled() override { return own_.isHistoryEnabled(); }
    void recordHistory(bool enabled, c10::cuda::CUDACachingAllocator::CreateContextFn context,
                       std::size_t entries, c10::cuda::CUDACachingAllocator::RecordContext when, bool clear,
                       const std::vector<std::string>& skip) override {
        own_.recordHistory(enabled, context, entries, when, clear, skip);
    }
    void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& words) override {
        own_.recordAnnotation(words);
    }
    void pushCompileContext(std::string& context) override { own_.pushCompileContext(context); }
    void popCompileContext() override { own_.popCompileContext(); }
    void setUserMetadata(const std::string& words) override { own_.setUserMetadata(words); }
    std::string getUserMetadata() override { return own_.getUserMetadata(); }
    void attachOutOfMemoryObserver(c10::cuda::CUDACachingAllocator::OutOfMemoryObserver observer) override {
        own_.attachOutOfMemoryObserver(std::move(observer));
    }
    void attachAllocatorTraceTracker(
        c10::cuda::CUDACachingAllocator::AllocatorTraceTracker tracker) override {
        own_.attachAllocatorTraceTracker(std::move(tracker));
    }
    void enablePeerAccess(c10::DeviceIndex device, c10::DeviceIndex other) override {
        own_.enablePeerAccess(device, other);
    }
    cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device, std::size_t count,
                            cudaStream_t stream, bool peer) override {
        return own_.memcpyAsync(to, to_device, from, from_device, count, stream, peer);
    }
    std::shared_ptr<c10::cuda::CUDACachingAllocator::AllocatorState> getCheckpointState(
        c10::DeviceIndex device, c10::MempoolId_t pool) override {
        return own_.getCheckpointState(device, pool);
    }
    c10::cuda::CUDACachingAllocator::CheckpointDelta setCheckpointPoolState(
        c10::DeviceIndex device,
        std::shared_ptr<c10::cuda::CUDACachingAllocator::AllocatorState> state) override {
        return own_.setCheckpointPoolState(device, std::move(state));
    }
    std::string name() override { return own_.name(); }
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 12
    void attachOomRejectionObserver(c10::cuda::CUDACachingAllocator::OomRejectionObserver observer) override {
        own_.attachOomRejectionObserver(std::move(observer));
    }
    std::shared_ptr<c10::GatheredContext> getContextForPointer(const void* pointer) override {
        return own_.getContextForPointer(pointer);
    }
#endif
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13
    void markCaptureBegin(c10::DeviceIndex device) override {
        own_.markCaptureBegin(device);
    }
    void markCaptureEnd(c10::DeviceIndex device) override {
        own_.markCaptureEnd(device);
    }
    c10::DataPtr allocateWithAddress(std::size_t bytes, void* address) override {
        return own_.allocateWithAddress(bytes, address);
    }
#endif
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 14
    bool supportsUserMetadata() override {
        return own_.supportsUserMetadata();
    }
    void annotateMemory(const void* pointer, const std::string& words) override {
        own_.annotateMemory(pointer, words);
    }
#endif

  protected:
    CUDAAllocator& own_;  ///< libtorch's allocator
};

}  // namespace rematlas
