// An allocator of host memory that knows exactly how many bytes are alive.
//
//     CountingAllocator::install();                 // once; tensors made before are not counted
//     CountingAllocator::reset_peak();
//     ... run something ...
//     CountingAllocator::peak();                    // the most bytes alive since reset_peak()
//
// Within a scope of a StepMemory, requests are served at planned addresses where there are any; they count
// like others. The allocator counts the bytes that tensors ask for, not those to which malloc rounds them.
// Threads: any; counters are atomic.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>

namespace rematlas {

class CountingAllocator {
  public:
    /// Whether malloc keeps all memory that it was once given, or stays as the process has set it.
    enum class Heap { kept, callers };
    /// Makes this allocator libtorch's allocator of host memory for the rest of the process. Later calls do
    /// nothing.
    static void install(Heap heap = Heap::kept);

    /// Whether this allocator handed out the memory.
    static bool counts(const c10::DataPtr& memory);

    static std::int64_t alive();  ///< bytes
    /// The most bytes alive since the last reset_peak(), without those that are counted apart.
    static std::int64_t peak();
    static void reset_peak();

    /// From now on, memory that is taken or freed by threads for which `is_apart` is true is counted apart,
    /// from 0 on; null: all memory is counted together. reset_peak() does nothing on such a thread.
    static void count_apart(bool (*is_apart)());
    static std::int64_t apart();  ///< bytes alive that are counted apart; below 0 where more was freed

    /// A second peak, for whoever watches the process: the most bytes alive since the last
    /// reset_watermark(). Rematlas itself never resets it.
    static std::int64_t watermark();  ///< in bytes
    static void reset_watermark();

    /// A third peak, of the process's steps. Returns the most bytes alive since the last call of this
    /// function.
    static std::int64_t take_step_peak();

    /// While an object of this class lives, each large block has pages of its own, which go back to the
    /// system when the block is freed. A heap would keep them: those of a step that runs once, and those
    /// that loss and optimizer take beside a step whose own memory is reserved.
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

    /// While an object of this class lives, the heap keeps all memory that was once given to it. Otherwise
    /// malloc gives much of the free memory at the heap's end back, and takes it again in each step whose
    /// tensors are dropped and made again. Afterwards malloc's limits are those that it reaches by itself
    /// once it has freed a large block.
    class KeptHeap {
      public:
        KeptHeap();
        KeptHeap(const KeptHeap&) = delete;
        KeptHeap& operator=(const KeptHeap&) = delete;
        ~KeptHeap();
    };

    /// Gives free memory of the heaps back to the system: of the process's heap, of the calling thread's,
    /// and of those of a few threads that have ended.
    static void give_back_free_pages();

    /// How often the system was asked for memory since the process began. Requests that an arena serves do
    /// not count.
    static std::int64_t system_allocations();
};

}  // namespace rematlas
