#include "tests/simgpu/memory.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/simgpu/control.h"
#include "tests/simgpu/engine.h"
#include "tests/simgpu/settings.h"

namespace simgpu {
namespace {

constexpr std::size_t addresses_bytes = std::size_t{1} << 43;  // addresses of each device; they take no
                                                               // memory until pages are mapped

struct DeviceMemory {
    std::uintptr_t begin = 0, next = 0;
    std::int64_t used = 0, peak = 0;
};

struct Memory {
    std::mutex mutex;
    std::array<DeviceMemory, most_devices> devices;
    std::map<std::uintptr_t, std::size_t> allocated;  ///< bytes by address, from device_allocate
    std::map<std::uintptr_t, std::size_t> pinned;     ///< bytes of allocated or registered host memory, by
                                                      ///< address
    std::map<std::uintptr_t, std::size_t> hosted;     ///< the part of `pinned` that the stand-in has
                                                      ///< allocated
};

Memory& memory() {
    static Memory* made = new Memory;
    return *made;
}

/// Returns a device's memory. The first call creates the device's context, which takes memory.
DeviceMemory& opened(int device) {
    DeviceMemory& of = memory().devices.at(static_cast<std::size_t>(device));
    if (of.begin == 0) {
        void* data =
            mmap(nullptr, addresses_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data == MAP_FAILED) std::perror("simgpu: no addresses"), std::_Exit(2);
        const auto first = reinterpret_cast<std::uintptr_t>(data);
        of.begin = of.next = (first + page_bytes - 1) / page_bytes * page_bytes;
        of.used = of.peak = settings().context;
    }
    return of;
}

std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/// Finds the entry of `ranges` that contains the address.
template <class Ranges>
auto holding(Ranges& ranges, const void* data) {
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    auto next = ranges.upper_bound(at);
    if (next == ranges.begin()) return ranges.end();
    --next;
    return at < next->first + next->second ? next : ranges.end();
}

}  // namespace

std::uintptr_t reserve_addresses(std::size_t bytes) {
    std::lock_guard lock(memory().mutex);
    DeviceMemory& of = opened(current_device());
    const std::uintptr_t at = of.next;
    if (at + bytes > of.begin + addresses_bytes - page_bytes) return 0;
    of.next += whole_pages(bytes);
    return at;
}

bool take_pages(int device, std::int64_t bytes) {
    std::lock_guard lock(memory().mutex);
    DeviceMemory& of = opened(device);
    if (of.used + bytes > settings().memory) return false;
    of.used += bytes;
    of.peak = std::max(of.peak, of.used);
    return true;
}

void return_pages(int device, std::int64_t bytes) {
    std::lock_guard lock(memory().mutex);
    opened(device).used -= bytes;
}

void put_pages(std::uintptr_t at, std::size_t bytes) {
    mprotect(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE);
    std::memset(reinterpret_cast<void*>(at), 0xff, bytes);
}

void remove_pages(std::uintptr_t at, std::size_t bytes) {
    forget(at, at + bytes);
    madvise(reinterpret_cast<void*>(at), bytes, MADV_DONTNEED);
    mprotect(reinterpret_cast<void*>(at), bytes, PROT_NONE);
}

cudaError_t device_allocate(void** data, std::size_t bytes) {
    if (bytes == 0) return *data = nullptr, cudaSuccess;
    const std::size_t taken = whole_pages(bytes);
    if (!take_pages(current_device(), static_cast<std::int64_t>(taken))) return cudaErrorMemoryAllocation;
    const std::uintptr_t at = reserve_addresses(taken);
    if (at == 0) {
        return_pages(current_device(), static_cast<std::int64_t>(taken));
        return cudaErrorMemoryAllocation;
    }
    put_pages(at, taken);
    std::lock_guard lock(memory().mutex);
    memory().allocated[at] = taken;
    *data = reinterpret_cast<void*>(at);
    return cudaSuccess;
}

cudaError_t device_free(void* data) {
    if (!data) return cudaSuccess;
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    std::size_t bytes = 0;
    {
        std::lock_guard lock(memory().mutex);
        const auto found = memory().allocated.find(at);
        if (found == memory().allocated.end()) return cudaErrorInvalidValue;
        bytes = found->second;
        memory().allocated.erase(found);
    }
    const int device = device_that_holds(data);
    remove_pages(at, bytes);
    return_pages(device, static_cast<std::int64_t>(bytes));
    return cudaSuccess;
}

cudaError_t host_allocate(void** data, std::size_t bytes) {
    const std::size_t taken = (bytes + 4095) / 4096 * 4096;
    void* made = mmap(nullptr, std::max<std::size_t>(taken, 4096), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return cudaErrorMemoryAllocation;
    std::lock_guard lock(memory().mutex);
    const auto at = reinterpret_cast<std::uintptr_t>(made);
    memory().pinned[at] = memory().hosted[at] = std::max<std::size_t>(taken, 4096);
    *data = made;
    return cudaSuccess;
}

cudaError_t host_free(void* data) {
    if (!data) return cudaSuccess;
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    std::size_t bytes = 0;
    {
        std::lock_guard lock(memory().mutex);
        const auto found = memory().hosted.find(at);
        if (found == memory().hosted.end()) return cudaErrorInvalidValue;
        bytes = found->second;
        memory().hosted.erase(found);
        memory().pinned.erase(at);
    }
    forget(at, at + bytes);
    munmap(data, bytes);
    return cudaSuccess;
}

cudaError_t host_register(void* data, std::size_t bytes) {
    std::lock_guard lock(memory().mutex);
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    const auto last = static_cast<const char*>(data) + bytes - 1;
    if (bytes == 0) return cudaErrorInvalidValue;
    auto& pinned = memory().pinned;
    if (holding(pinned, data) != pinned.end() || holding(pinned, last) != pinned.end())
        return cudaErrorHostMemoryAlreadyRegistered;
    pinned[at] = bytes;
    return cudaSuccess;
}

cudaError_t host_unregister(void* data) {
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    std::size_t bytes = 0;
    {
        std::lock_guard lock(memory().mutex);
        const auto found = memory().pinned.find(at);
        if (found == memory().pinned.end() || memory().hosted.contains(at))
            return cudaErrorHostMemoryNotRegistered;
        bytes = found->second;
        memory().pinned.erase(found);
    }
    forget(at, at + bytes);
    return cudaSuccess;
}

int device_that_holds(const void* data) {
    std::lock_guard lock(memory().mutex);
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    for (std::size_t device = 0; device < memory().devices.size(); ++device) {
        const DeviceMemory& of = memory().devices[device];
        if (of.begin != 0 && at >= of.begin && at < of.begin + addresses_bytes)
            return static_cast<int>(device);
    }
    return -1;
}

bool is_pinned(const void* data) {
    std::lock_guard lock(memory().mutex);
    return holding(memory().pinned, data) != memory().pinned.end();
}

void memory_info(int device, std::size_t* free, std::size_t* total) {
    std::lock_guard lock(memory().mutex);
    *total = static_cast<std::size_t>(settings().memory);
    *free = static_cast<std::size_t>(std::max<std::int64_t>(0, settings().memory - opened(device).used));
}

}  // namespace simgpu

using namespace simgpu;

extern "C" {

int simgpu_is_open(int device) {
    std::lock_guard lock(memory().mutex);
    return memory().devices.at(static_cast<std::size_t>(device)).begin != 0;
}
long long simgpu_used(int device) {
    std::lock_guard lock(memory().mutex);
    return opened(device).used;
}
long long simgpu_peak(int device) {
    std::lock_guard lock(memory().mutex);
    return opened(device).peak;
}
void simgpu_reset_peak(int device) {
    std::lock_guard lock(memory().mutex);
    opened(device).peak = opened(device).used;
}
void simgpu_set_memory(long long bytes) {
    std::lock_guard lock(memory().mutex);
    settings().memory = bytes;
}
long long simgpu_pinned() {
    std::lock_guard lock(memory().mutex);
    long long sum = 0;
    for (const auto& [at, bytes] : memory().pinned) sum += static_cast<long long>(bytes);
    return sum;
}

}  // extern "C"
