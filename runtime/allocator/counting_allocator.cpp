#include "runtime/allocator/counting_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/COW.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/allocator/memory_limit.h"
#include "runtime/allocator/step_memory.h"

namespace rematlas {
namespace {

std::atomic<std::int64_t> bytes_alive{0};
std::atomic<std::int64_t> bytes_peak{0};
std::atomic<std::int64_t> bytes_watermark{0};
std::atomic<std::int64_t> bytes_step_peak{0};
std::atomic<std::int64_t> bytes_apart{0};
std::atomic<bool (*)()> counts_apart{nullptr};
std::atomic<std::int64_t> from_system{0};
std::atomic<bool> heap_is_kept{false};  ///< once set, it stays set

std::mutex malloc_limits;
int kept_heaps = 0;  ///< guarded by `malloc_limits`

/// The caller must hold `malloc_limits`.
void set_malloc_limits() {
    if (!heap_is_kept)
        mallopt(M_MMAP_THRESHOLD, 32 << 20);  // otherwise malloc would map blocks beyond 128 KiB separately
    mallopt(M_TRIM_THRESHOLD, heap_is_kept || kept_heaps > 0 ? -1 : 64 << 20);
}

/// The most threads that a search during planning starts in addition to the calling thread.
constexpr int heaps_left_by_threads = 3;

/// Returns the free memory at the end of the calling thread's heap to the system. malloc_trim does not shrink
/// this heap: malloc checks the end of a heap only when a large block next to it is freed. Then starts
/// `others` new threads, all alive at once. Each of them takes over the heap of a thread that has ended, and
/// shrinks it in the same way.
void shrink_own_heap(int others) {
    void* volatile block = std::malloc(96 << 10);
    std::free(block);
    if (others > 0) std::thread(shrink_own_heap, others - 1).join();
}

/// Each block begins with a header. The header's size keeps the data aligned for vector instructions.
constexpr std::size_t header = 64;
struct Header {
    std::int64_t bytes;
    std::uint64_t seal;
    void* from_heap;  ///< what malloc returned; null if the block has its own mapping
};

/// In bytes. A smaller block never gets pages of its own (see `OwnPages`).
constexpr std::size_t smallest_mapped = std::size_t{1} << 20;
thread_local int own_pages = 0;  ///< number of OwnPages objects of this thread
std::atomic<int> own_pages_everywhere{0};

bool gets_own_pages(std::size_t bytes, const StepMemory* step) {
    return bytes >= smallest_mapped &&
           (own_pages > 0 || own_pages_everywhere.load(std::memory_order_relaxed) > 0 ||
            (step && step->logs()));
}

/// Takes a block of the heap, aligned to the size of the header. Returns null if there is no memory.
/// posix_memalign would fragment the heap: it asks for more than it keeps, so a freed block would be too
/// small for the next tensor of the same size.
Header* block_of_heap(std::size_t bytes) {
    std::size_t room = bytes + header + (header - alignof(std::max_align_t));
    void* const start = std::malloc(room);
    void* aligned = start;
    if (!start || !std::align(header, bytes + header, aligned, room)) return nullptr;
    return new (aligned) Header{.from_heap = start};
}

/// Takes a block with its own mapping. Returns null if there is no memory.
Header* mapped_block(std::size_t bytes) {
    void* const start = mmap(nullptr, bytes + header, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return start == MAP_FAILED ? nullptr : new (start) Header{};
}

void free_block(Header* block) {
    if (block->from_heap) {
        std::free(block->from_heap);
    } else {
        munmap(block, static_cast<std::size_t>(block->bytes) + header);
    }
}

/// The seal shows that a block is from this allocator. Blocks that libtorch's own allocator handed out
/// earlier may also be freed here, because oneDNN frees blocks by their addresses (c10's raw_deallocate).
/// Reading the 64 bytes before such a block is safe: malloc's bookkeeping precedes the block, and the block
/// is aligned to 64 bytes.
std::uint64_t seal_of(const void* block) {
    return reinterpret_cast<std::uintptr_t>(block) ^ 0x9e3779b97f4a7c15u;
}

void raise(std::atomic<std::int64_t>& peak, std::int64_t now) {
    std::int64_t highest = peak.load(std::memory_order_relaxed);
    while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
    }
}

bool is_apart() {
    bool (*const asked)() = counts_apart.load(std::memory_order_relaxed);
    return asked && asked();
}

/// Counts `bytes` as taken, or as freed if `bytes` is negative.
void count(std::int64_t bytes) {
    const bool apart = is_apart();
    if (apart) bytes_apart.fetch_add(bytes, std::memory_order_relaxed);
    const std::int64_t now = bytes_alive.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (bytes < 0) return;
    if (!apart) raise(bytes_peak, now - bytes_apart.load(std::memory_order_relaxed));
    raise(bytes_watermark, now);
    raise(bytes_step_peak, now);
}

/// Returns the address of the header of a block. Valid only if `data` is from this allocator (see `is_ours`).
Header* header_of(void* data) {
    return reinterpret_cast<Header*>(static_cast<char*>(data) - header);
}

bool is_ours(void* data) {
    return header_of(data)->seal == seal_of(header_of(data));
}

void release(void* data) {
    if (!data) return;
    c10::profiledCPUMemoryReporter().Delete(data);
    if (const auto bytes = StepMemory::give_back(data)) {
        count(-*bytes);
        return;
    }
    if (!is_ours(data)) return std::free(data);
    Header* const block = header_of(data);
    block->seal = 0;
    count(-block->bytes);
    free_block(block);
}

/// Each DataPtr has the data as its context and `release` as its deleter, so that memory can be freed by its
/// address alone. oneDNN does this (c10's raw_allocate and raw_deallocate).
class Allocator final : public c10::Allocator {
  public:
    c10::DataPtr allocate(std::size_t bytes) override {
        const c10::Device cpu(c10::DeviceType::CPU);
        if (bytes == 0) return {nullptr, nullptr, &release, cpu};
        if (RoomMaker* maker = MemoryLimit::maker(the_host))
            maker->before_allocation(static_cast<std::int64_t>(std::min(bytes, SIZE_MAX / 2)));
        StepMemory* step = StepMemory::active(the_host);
        if (void* planned = step ? step->take(bytes) : nullptr) {
            count(static_cast<std::int64_t>(bytes));
            c10::profiledCPUMemoryReporter().New(planned, bytes);
            return {planned, planned, &release, cpu};
        }
        Header* block = nullptr;
        if (bytes <= SIZE_MAX / 2)
            block = gets_own_pages(bytes, step) ? mapped_block(bytes) : block_of_heap(bytes);
        TORCH_CHECK(block, "out of host memory: ", bytes, " bytes more are needed");
        block->bytes = static_cast<std::int64_t>(bytes);
        block->seal = seal_of(block);
        count(static_cast<std::int64_t>(bytes));
        from_system.fetch_add(1, std::memory_order_relaxed);
        char* data = reinterpret_cast<char*>(block) + header;
        if (step) step->served(data, bytes);
        c10::profiledCPUMemoryReporter().New(data, bytes);
        return {data, data, &release, cpu};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }
};

}  // namespace

void CountingAllocator::install(Heap heap) {
    static std::once_flag once;
    std::call_once(once, [heap] {
        static Allocator allocator;
        c10::SetCPUAllocator(&allocator, /*priority=*/100);
        if (heap == Heap::callers) return;
        heap_is_kept = true;
        // The process keeps memory that it has touched. If malloc returned it to the system after every large
        // tensor, each step would cause page faults again. Page faults take longer than many ops, and make
        // the measured times of ops vary.
        std::lock_guard lock(malloc_limits);
        mallopt(M_MMAP_MAX, 0);
        set_malloc_limits();
    });
}

CountingAllocator::KeptHeap::KeptHeap() {
    std::lock_guard lock(malloc_limits);
    ++kept_heaps;
    set_malloc_limits();
}
CountingAllocator::KeptHeap::~KeptHeap() {
    std::lock_guard lock(malloc_limits);
    --kept_heaps;
    set_malloc_limits();
}

void CountingAllocator::give_back_free_pages() {
    malloc_trim(0);
    std::lock_guard lock(malloc_limits);
    mallopt(M_TRIM_THRESHOLD, 0);
    shrink_own_heap(heaps_left_by_threads);
    set_malloc_limits();
}

CountingAllocator::OwnPages::OwnPages(For whom) : whom_(whom) {
    whom == For::process ? ++own_pages_everywhere : ++own_pages;
}
CountingAllocator::OwnPages::~OwnPages() {
    whom_ == For::process ? --own_pages_everywhere : --own_pages;
}

bool CountingAllocator::counts(const c10::DataPtr& memory) {
    const RoomMaker* maker = MemoryLimit::maker(the_host);
    const c10::DataPtr& pointer = maker ? maker->behind(memory) : memory;
    if (!pointer) return false;
    // The deleter of a lazy copy is not `release`, so its seal is read. This is safe, because lazy copies are
    // made only of memory from libtorch's allocators.
    return pointer.get_deleter() == &release || Arena::holds(pointer.get()) ||
           (c10::impl::cow::is_cow_data_ptr(pointer) && is_ours(pointer.get()));
}

std::int64_t CountingAllocator::alive() {
    return bytes_alive.load(std::memory_order_relaxed);
}
std::int64_t CountingAllocator::peak() {
    return bytes_peak.load(std::memory_order_relaxed);
}
std::int64_t CountingAllocator::system_allocations() {
    return from_system.load(std::memory_order_relaxed);
}
void CountingAllocator::reset_peak() {
    if (!is_apart()) bytes_peak.store(alive() - apart(), std::memory_order_relaxed);
}

void CountingAllocator::count_apart(bool (*is_apart)()) {
    counts_apart = is_apart;
    bytes_apart = 0;
}

std::int64_t CountingAllocator::apart() {
    return bytes_apart.load(std::memory_order_relaxed);
}

std::int64_t CountingAllocator::watermark() {
    return bytes_watermark.load(std::memory_order_relaxed);
}

void CountingAllocator::reset_watermark() {
    bytes_watermark.store(bytes_alive.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

std::int64_t CountingAllocator::take_step_peak() {
    return bytes_step_peak.exchange(bytes_alive.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace rematlas
