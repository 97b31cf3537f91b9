#include "runtime/allocator/memory_limit.h"

#include <atomic>

namespace rematlas {
namespace {
std::atomic<RoomMaker*> asked{nullptr};
}  // namespace

RoomMaker* MemoryLimit::set(RoomMaker* maker) {
    return asked.exchange(maker, std::memory_order_acq_rel);
}

RoomMaker* MemoryLimit::maker(int memory) {
    RoomMaker* maker = asked.load(std::memory_order_acquire);
    return maker && maker->memory() == memory ? maker : nullptr;
}

}  // namespace rematlas
