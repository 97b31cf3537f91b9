// An allocator of host memory that knows exactly how many bytes are alive.
//
//     CountingAllocator::install();                 // once; tensors made before are not counted
//     CountingAllocator::reset_peak();
//     ... run something ...
//     CountingAllocator::peak();                    // the most bytes alive since reset_peak()
//
// Within a scope of a StepMemory, planned requests are served at their planned addresses, and counted like
// all others. The allocator counts the bytes that tensors ask for, without malloc's rounding. Threads: any;
// counters are atomic.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>

namespace rematlas {

class CountingAllocator {
  public:
    /// `kept`: malloc keeps all memory that the system gave it. `callers`: malloc's settings stay as the
    /// process has them.
    enum class Heap { kept, callers };
    /// Makes this class libtorch's allocator of host memory for the rest of the process. Further calls do
    /// nothing.
    static void install(Heap heap = Heap::kept);

    /// Says whether this allocator handed out the memory.
    static bool counts(const c10::DataPtr& memory);

    static std::int64_t alive();  ///< bytes alive now
    /// The most bytes alive since the last reset_peak(), without the bytes that are counted separately
    /// (`count_apart`).
    static std::int64_t peak();
    static void reset_peak();

    /// From now on, memory that is taken or freed by threads for which `is_apart` returns true is counted
    /// separately, from 0. With null, all memory is counted together. reset_peak() does nothing on a thread
    /// for which `is_apart` returns true.
    static void count_apart(bool (*is_apart)());
    static std::int64_t apart();  ///< bytes alive that are counted separately; negative if more were freed
                                  ///< than taken

    /// A second peak, for code that watches the process: the most bytes alive since the last
    /// reset_watermark(). Rematlas itself never resets this peak.
    static std::int64_t watermark();  ///< in bytes
    static void reset_watermark();

    /// A third peak, which measures each training step. Returns the most bytes alive since the last call of
    /// this function.
    static std::int64_t take_step_peak();

    /// While an object of this class lives, each large block is taken outside the heap, in pages of its own.
    /// These pages return to the system when the block is freed; pages of the heap would not. Used for a step
    /// that runs only once, and for memory that loss and optimizer take while the step's own memory is
    /// reserved.
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

    /// While an object of this class lives, the heap keeps all memory that the system gave it. Otherwise, in
    /// a step that frees tensors and makes them again, malloc would return the free memory at the end of the
    /// heap to the system and soon ask for it again. When the last object is destroyed, malloc gets the
    /// thresholds that it would set by itself after freeing a block of 32 MiB.
    class KeptHeap {
      public:
        KeptHeap();
        KeptHeap(const KeptHeap&) = delete;
        KeptHeap& operator=(const KeptHeap&) = delete;
        ~KeptHeap();
    };

    /// Returns free memory of three kinds of heaps to the system: the process's heap, the calling thread's
    /// heap, and the heaps of a few threads that have ended.
    static void give_back_free_pages();

    /// Returns how often tensors asked the system for memory since the process began. Requests that an arena
    /// serves do not count.
    static std::int64_t system_allocations();
};

}  // namespace rematlas
