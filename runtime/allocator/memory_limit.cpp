#include "runtime/allocator/memory_limit.h"

#include <atomic>

#include "runtime/allocator/counting_allocator.h"

namespace rematlas {
namespace {
std::atomic<RoomMaker*> asked{nullptr};
std::atomic<std::uint64_t> times_set{0};
thread_local int attempts = 0;
}  // namespace

RoomMaker* MemoryLimit::set(RoomMaker* maker) {
    if (maker && maker->memory() == the_host)
        CountingAllocator::count_apart(nullptr);  // the limit holds for the memory of all threads
    times_set.fetch_add(1, std::memory_order_acq_rel);
    return asked.exchange(maker, std::memory_order_acq_rel);
}

std::uint64_t MemoryLimit::changes() {
    return times_set.load(std::memory_order_acquire);
}

RoomMaker* MemoryLimit::maker(int memory) {
    RoomMaker* maker = asked.load(std::memory_order_acquire);
    return maker && maker->memory() == memory ? maker : nullptr;
}

MemoryLimit::Attempt::Attempt() {
    ++attempts;
}
MemoryLimit::Attempt::~Attempt() {
    --attempts;
}

bool MemoryLimit::is_attempt() {
    return attempts > 0;
}

}  // namespace rematlas
