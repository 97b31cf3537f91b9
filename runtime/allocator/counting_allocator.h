// An allocator of host memory that knows exactly how many bytes are alive.
//
//     CountingAllocator::install();                 // once; tensors made before are not counted
//     CountingAllocator::reset_peak();
//     ... run something ...
//     CountingAllocator::peak();                    // the most bytes alive since reset_peak()
//
// Within a scope of a StepMemory, requests are served at planned addresses where there are any; they count
// like others. Counts what tensors ask for, not what malloc rounds it to. Threads: any; counters are atomic.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>

namespace rematlas {

class CountingAllocator {
  public:
    /// Whether malloc keeps what it was once given, or stays as the process has set it.
    enum class Heap { kept, callers };
    /// Makes it libtorch's allocator of host memory for the rest of the process. Later calls do nothing.
    static void install(Heap heap = Heap::kept);

    /// Whether it handed out that memory.
    static bool counts(const c10::DataPtr& memory);

    static std::int64_t alive();  ///< bytes
    /// Bytes, the most alive since the last reset_peak() but for those that are counted apart.
    static std::int64_t peak();
    static void reset_peak();

    /// From now on what threads take and free for which `is_apart` is true is counted apart, from 0 on; null: all is
    /// counted together. Such a thread's reset_peak() does nothing.
    static void count_apart(bool (*is_apart)());
    static std::int64_t apart();  ///< bytes alive that are counted apart; below 0 where more was freed

    /// A second peak, for who watches the process: nothing in here resets it.
    static std::int64_t watermark();  ///< bytes, the most alive since the last reset_watermark()
    static void reset_watermark();

    /// A third peak, of the process's steps. Returns the most bytes alive since the last call of this.
    static std::int64_t take_step_peak();

    /// While one lives, each large block has pages of its own, which go back to the system when it is freed.
    /// A heap would keep them: what a step took that runs once, and what loss and optimizer take beside a
    /// step whose own memory is reserved.
    class OwnPages {
      public:
        enum class For { this_thread, process };
        explicit OwnPages(For whom);
        OwnPages(const OwnPages&) = delete;
        OwnPages& operator=(const OwnPages&) = delete;
        ~OwnPages();

      private:
        For whom_;
    };

    /// While one lives, the heap keeps what was once given to it. Malloc gives much free memory at its end back,
    /// and that comes and goes in each step whose tensors are dropped and made again. Afterwards malloc's limits
    /// are those that it comes to by itself once it has freed a large block.
    class KeptHeap {
      public:
        KeptHeap();
        KeptHeap(const KeptHeap&) = delete;
        KeptHeap& operator=(const KeptHeap&) = delete;
        ~KeptHeap();
    };

    /// Gives what is free in the heaps back to the system: of the process, of the calling thread, and of a few
    /// threads that have ended.
    static void give_back_free_pages();

    /// How often the system was asked since the process began; what an arena serves is not counted.
    static std::int64_t system_allocations();
};

}  // namespace rematlas
