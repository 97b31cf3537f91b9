#include "runtime/device/cuda/step_allocator.h"

#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/device/cuda/forwarding_allocator.h"

namespace rematlas {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;
using AllocatorConfig = c10::CachingAllocator::AcceleratorAllocatorConfig;
using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using caching::CUDAAllocator;
using caching::DeviceStats;

constexpr auto aggregate = static_cast<std::size_t>(StatType::AGGREGATE);
constexpr auto large_pool = static_cast<std::size_t>(StatType::LARGE_POOL);

/// The bytes of arenas that a statistic includes: none, the bytes that arenas have handed out, or all bytes
/// of arenas. `statistics` lists all statistics that have peaks. Bytes of arenas count in the large pool.
enum class OfArenas { no, handed_out, whole };
constexpr std::pair<StatArray DeviceStats::*, OfArenas> statistics[] = {
    {&DeviceStats::allocation, OfArenas::no},
    {&DeviceStats::segment, OfArenas::no},
    {&DeviceStats::active, OfArenas::no},
    {&DeviceStats::inactive_split, OfArenas::no},
    {&DeviceStats::inactive_split_bytes, OfArenas::no},
    {&DeviceStats::allocated_bytes, OfArenas::handed_out},
    {&DeviceStats::active_bytes, OfArenas::handed_out},
    {&DeviceStats::requested_bytes, OfArenas::handed_out},
    {&DeviceStats::reserved_bytes, OfArenas::whole}};

void give_back(void* data);

class StepAllocator final : public ForwardingAllocator {
  public:
    StepAllocator(CUDAAllocator& own, std::int64_t granularity, const StepMemoryCalls& calls)
        : ForwardingAllocator(own), granularity_(granularity), calls_(calls) {}

    std::int64_t granularity() const { return granularity_; }

    // Functions for arenas.

    void* reserve(int device, std::size_t bytes) {
        const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
        const c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
        void* memory = nullptr;
        if (cudaMalloc(&memory, bytes) != cudaSuccess) {
            (void)cudaGetLastError();
            return nullptr;
        }
        const std::lock_guard lock(mutex_);
        arenas_.push_back({.base = static_cast<char*>(memory),
                           .bytes = bytes,
                           .device = device,
                           .stream = c10::cuda::getCurrentCUDAStream(device)});
        any_arenas_ = true;
        note(device);
        return memory;
    }

    /// Waits for the device, because submitted work may still use the memory. Errors are ignored: at the end
    /// of the process the driver perhaps no longer works.
    void release(int device, void* memory) {
        const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
        const c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
        {
            const std::lock_guard lock(mutex_);
            std::erase_if(arenas_, [&](const OneArena& arena) { return arena.base == memory; });
            any_arenas_ = !arenas_.empty();
        }
        (void)cudaFree(memory);
        (void)cudaGetLastError();
    }

    /// Makes the arena's own stream wait for the streams that use memory which was given back. After that,
    /// the memory can be taken again.
    void await_users(int device) {
        std::vector<GivenBack> given;
        {
            const std::lock_guard lock(mutex_);
            for (GivenBack& one : given_back_)
                if (one.arena.device == device) given.push_back(std::move(one));
            std::erase_if(given_back_, [&](const GivenBack& one) { return one.arena.device == device; });
        }
        for (const GivenBack& one : given) {
            for (const c10::cuda::CUDAStream& user : one.users) {
                cudaEvent_t event = nullptr;
                const c10::cuda::CUDAGuard guard(user.device_index());
                C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
                C10_CUDA_CHECK(cudaEventRecord(event, user));
                C10_CUDA_CHECK(cudaStreamWaitEvent(one.arena.stream, event, 0));
                C10_CUDA_CHECK(cudaEventDestroy(event));
            }
            return_to_arena(one.data);
        }
    }

    void give_back_block(void* data) {
        {
            std::unique_lock lock(mutex_);
            if (const OneArena* arena = arena_of(data); arena && arena->is_single_block) {
                const int device = arena->device;
                users_.erase(data);  // the driver waits for all streams before it frees
                lock.unlock();
                (void)calls_.give_back(data);
                return release(device, data);
            }
            const auto used = users_.find(data);
            if (used != users_.end()) {
                const OneArena* arena = arena_of(data);
                given_back_.push_back({data, *arena, {used->second.begin(), used->second.end()}});
                users_.erase(used);
                return;
            }
        }
        if (!return_to_arena(data)) own_.raw_delete(data);
    }

    // Functions for requests.

    c10::DataPtr allocate(std::size_t bytes) override {
        const c10::DeviceIndex device = c10::cuda::current_device();
        make_room(device, bytes);
        StepMemory* step = bytes > 0 ? calls_.active(device) : nullptr;
        if (!step) return counted(device, bytes, [&] { return own_.allocate(bytes); });
        void* data = serve(*step, device, bytes);
        return {data, data, &give_back, c10::Device(c10::DeviceType::CUDA, device)};
    }
    void* raw_alloc(std::size_t bytes) override {
        const c10::DeviceIndex device = c10::cuda::current_device();
        make_room(device, bytes);
        if (StepMemory* step = bytes > 0 ? calls_.active(device) : nullptr)
            return serve(*step, device, bytes);
        return counted(device, bytes, [&] { return own_.raw_alloc(bytes); });
    }
    void* raw_alloc_with_stream(std::size_t bytes, cudaStream_t stream) override {
        const c10::DeviceIndex device = c10::cuda::current_device();
        make_room(device, bytes);
        return counted(device, bytes, [&] { return own_.raw_alloc_with_stream(bytes, stream); });
    }
    void raw_delete(void* data) override {
        if (data) give_back_block(data);
    }
    void recordStream(const c10::DataPtr& pointer, c10::cuda::CUDAStream stream) override {
        const RoomMaker* maker = calls_.room_maker(pointer.device().index());
        const c10::DataPtr& data = maker ? maker->behind(pointer) : pointer;
        if (data.get_deleter() != &give_back) return own_.recordStream(data, stream);
        {
            const std::lock_guard lock(mutex_);
            if (const OneArena* arena = arena_of(data.get())) {
                if (stream != arena->stream) users_[data.get()].insert(stream);
                return;
            }
        }
        // libtorch's allocator recognizes the block only by its own deleter.
        c10::DataPtr own(data.get(), data.get(), own_.raw_deleter(), data.device());
        own_.recordStream(own, stream);
        own.release_context();
    }
    void* getBaseAllocation(void* data, std::size_t* bytes) override {
        {
            const std::lock_guard lock(mutex_);
            if (const OneArena* arena = arena_of(data)) {
                if (bytes) *bytes = arena->bytes;
                return arena->base;
            }
        }
        return own_.getBaseAllocation(data, bytes);
    }
    caching::ShareableHandle shareIpcHandle(void* data) override {
        {
            const std::lock_guard lock(mutex_);
            TORCH_CHECK(!arena_of(data),
                        "rematlas: a tensor in the arena of a planned step cannot be shared with other "
                        "processes; share a clone of it");
        }
        return own_.shareIpcHandle(data);
    }

    // Functions for statistics.

    DeviceStats getDeviceStats(c10::DeviceIndex device) override {
        const std::lock_guard lock(mutex_);
        return note(device);
    }
    void resetPeakStats(c10::DeviceIndex device) override {
        const std::lock_guard lock(mutex_);
        note(device);
        own_.resetPeakStats(device);
        highest_.erase(device);
        note(device);
    }

    void reset_measured_peak(c10::DeviceIndex device) {
        const std::lock_guard lock(mutex_);
        note(device);
        own_.resetPeakStats(device);
        measured_[device] = 0;
        note(device);
    }
    std::int64_t measured_peak(c10::DeviceIndex device) {
        const std::lock_guard lock(mutex_);
        note(device);
        return measured_[device];
    }
    std::int64_t take_step_peak(c10::DeviceIndex device) {
        const std::lock_guard lock(mutex_);
        note(device);
        const std::int64_t most = std::exchange(of_step_[device], 0);
        own_.resetPeakStats(device);
        note(device);
        return most;
    }
    StatArray allocations(c10::DeviceIndex device) { return own_.getDeviceStats(device).allocation; }
    caching::SnapshotInfo snapshot(c10::MempoolId_t pool, bool include_traces) override {
        caching::SnapshotInfo info = own_.snapshot(pool, include_traces);
        if (pool != c10::MempoolId_t{0, 0}) return info;
        const std::lock_guard lock(mutex_);
        for (const OneArena& arena : arenas_) {
            caching::SegmentInfo segment;
            segment.device = static_cast<c10::DeviceIndex>(arena.device);
            segment.address = reinterpret_cast<std::size_t>(arena.base);
            segment.total_size = segment.requested_size = segment.allocated_size = segment.active_size =
                arena.bytes;
            segment.stream = arena.stream.stream();
            segment.is_large = true;
            caching::BlockInfo block;
            block.size = block.requested_size = arena.bytes;
            block.allocated = block.active = true;
            segment.blocks.push_back(block);
            info.segments.push_back(std::move(segment));
        }
        return info;
    }

  private:
    struct OneArena {
        char* base;
        std::size_t bytes;
        int device;
        c10::cuda::CUDAStream stream;
        std::int64_t handed_out = 0;
        bool is_single_block = false;  ///< one request takes the whole arena
    };
    struct GivenBack {
        void* data;
        OneArena arena;
        std::vector<c10::cuda::CUDAStream> users;
    };

    OneArena* arena_of(const void* data) {
        for (OneArena& arena : arenas_)
            if (data >= arena.base && data < arena.base + arena.bytes) return &arena;
        return nullptr;
    }

    void* serve(StepMemory& step, c10::DeviceIndex device, std::size_t bytes) {
        const auto granularity = static_cast<std::size_t>(granularity_);
        const std::size_t size = (bytes + granularity - 1) / granularity * granularity;
        if (void* data = calls_.take(step, size)) {
            const std::lock_guard lock(mutex_);
            arena_of(data)->handed_out += static_cast<std::int64_t>(size);
            note(device);
            return data;
        }
        void* data = calls_.logs(step) ? single_block(device, size) : nullptr;
        if (!data) data = counted(device, bytes, [&] { return own_.raw_alloc(bytes); });
        calls_.served(step, data, size);
        return data;
    }

    /// Takes memory from the driver for a large request of a step that is logged. libtorch's allocator might
    /// hand out a larger block whole, and then the step would count more bytes than its plan. Returns null if
    /// the allocator always splits blocks for such a request, if a graph is being captured, or if the driver
    /// has no memory left.
    void* single_block(c10::DeviceIndex device, std::size_t bytes) {
        constexpr std::size_t always_split = std::size_t{1} << 20;
        if (bytes <= always_split || AllocatorConfig::use_expandable_segments() ||
            c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None)
            return nullptr;
        void* data = reserve(device, bytes);
        if (!data) return nullptr;
        const std::lock_guard lock(mutex_);
        OneArena& arena = *arena_of(data);
        arena.is_single_block = true;
        arena.handed_out = static_cast<std::int64_t>(bytes);
        note(device);
        return data;
    }

    /// Returns the memory to its arena. Returns false if libtorch's allocator served the memory.
    bool return_to_arena(void* data) {
        const auto bytes = calls_.give_back(data);
        if (!bytes) return false;
        const std::lock_guard lock(mutex_);
        // If the arena was retired and `data` was its last block in use, the arena has been freed.
        if (OneArena* arena = arena_of(data)) arena->handed_out -= *bytes;
        return true;
    }

    /// Must be called without the lock: memory that is freed to make room is given back to this class, which
    /// takes the lock.
    void make_room(c10::DeviceIndex device, std::size_t bytes) {
        if (RoomMaker* maker = bytes > 0 ? calls_.room_maker(device) : nullptr)
            maker->before_allocation(static_cast<std::int64_t>(std::min(bytes, SIZE_MAX / 2)));
    }

    /// Allocates through libtorch's allocator. If the allocation fails, idle arenas release their memory. If
    /// it fails again, the evictor frees memory until the allocation succeeds or nothing is left to free. The
    /// evictor holds its own lock while it frees. So the evictor is called here, and not in libtorch's
    /// callback, which runs under the allocator's lock.
    template <class Allocate>
    std::invoke_result_t<Allocate> counted(c10::DeviceIndex device, std::size_t bytes, Allocate&& allocate) {
        const auto and_noted = [&](auto made) {
            if (!any_arenas_) return made;
            const std::lock_guard lock(mutex_);
            note(device);
            return made;
        };
        while (true) {
            try {
                return and_noted(allocate());
            } catch (const c10::OutOfMemoryError&) {
                if (calls_.give_way(device)) continue;
                RoomMaker* maker = calls_.room_maker(device);
                if (!maker || !maker->give_way(static_cast<std::int64_t>(bytes))) throw;
            }
        }
    }

    /// Returns the statistics, including arenas. If there are arenas, each request calls this function, so
    /// that no peak of libtorch's and the arenas' bytes together is missed. libtorch's own peaks count from
    /// their last reset, by Rematlas or the caller.
    DeviceStats note(c10::DeviceIndex device) {
        DeviceStats now = own_.getDeviceStats(device);
        const std::int64_t own_peak = now.allocated_bytes[aggregate].peak;
        std::int64_t handed_out = 0, whole = 0;
        for (const OneArena& arena : arenas_) {
            if (arena.device != device) continue;
            handed_out += arena.handed_out;
            whole += static_cast<std::int64_t>(arena.bytes);
        }
        DeviceStats& highest = highest_[device];
        for (const auto& [member, of_arenas] : statistics) {
            const std::int64_t more = of_arenas == OfArenas::handed_out ? handed_out
                                      : of_arenas == OfArenas::whole    ? whole
                                                                        : 0;
            for (std::size_t type = 0; type < (now.*member).size(); ++type) {
                Stat& stat = (now.*member)[type];
                Stat& most = (highest.*member)[type];
                if (type == aggregate || type == large_pool) stat.current += more;
                most.peak = std::max({most.peak, stat.current, stat.peak});
                stat.peak = most.peak;
            }
        }
        const std::int64_t most = std::max(own_peak, now.allocated_bytes[aggregate].current);
        for (auto* peaks : {&measured_, &of_step_}) (*peaks)[device] = std::max((*peaks)[device], most);
        return now;
    }

    std::int64_t granularity_;
    StepMemoryCalls calls_;
    std::mutex mutex_;
    std::vector<OneArena> arenas_;
    std::atomic<bool> any_arenas_ = false;
    std::map<c10::DeviceIndex, DeviceStats> highest_;  ///< peaks that the process reads; only `peak` is set
    std::map<c10::DeviceIndex, std::int64_t> measured_, of_step_;
    /// Orders streams by their handles.
    struct ByStream {
        bool operator()(const c10::cuda::CUDAStream& a, const c10::cuda::CUDAStream& b) const {
            return a.stream() < b.stream();
        }
    };
    /// Streams that use a block of an arena, by the block's address; without the arena's own stream.
    std::map<void*, std::set<c10::cuda::CUDAStream, ByStream>> users_;
    std::vector<GivenBack> given_back_;
};

/// This object is never destroyed, because tensors may outlive every static object.
StepAllocator* installed = nullptr;

void give_back(void* data) {
    if (data) installed->give_back_block(data);
}

}  // namespace

void stand_before_allocator(std::int64_t granularity, const StepMemoryCalls& calls) {
    static std::once_flag once;
    std::call_once(once, [&] {
        installed = new StepAllocator(*caching::get(), granularity, calls);
        caching::allocator.store(installed);
        c10::SetAllocator(c10::DeviceType::CUDA, installed);
    });
}

ArenaMemory device_arena_memory(int device) {
    return {.device = device,
            .alignment = installed->granularity(),
            .reserve = [device](std::size_t bytes) { return installed->reserve(device, bytes); },
            .release = [device](void* memory, std::size_t) { installed->release(device, memory); },
            .trim = [] { caching::emptyCache(); },
            .await_users = [device] { installed->await_users(device); }};
}

void reset_measured_peak(int device) {
    installed->reset_measured_peak(static_cast<c10::DeviceIndex>(device));
}

LooseBlocks large_blocks(int device) {
    const Stat stat = installed->allocations(static_cast<c10::DeviceIndex>(device))[large_pool];
    return {.alive = stat.current, .most = stat.peak, .so_far = stat.allocated};
}

std::int64_t measured_peak(int device) {
    return installed->measured_peak(static_cast<c10::DeviceIndex>(device));
}

std::int64_t take_step_peak(int device) {
    return installed->take_step_peak(static_cast<c10::DeviceIndex>(device));
}

}  // namespace rematlas
