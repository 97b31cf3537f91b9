#include "runtime/allocator/memory_limit.h"

#include <atomic>

namespace rematlas {
namespace {
std::atomic<RoomMaker*> asked{nullptr};
}  // namespace

void MemoryLimit::set(RoomMaker* maker) {
    asked.store(maker, std::memory_order_release);
}

RoomMaker* MemoryLimit::maker() {
    return asked.load(std::memory_order_acquire);
}

}  // namespace rematlas
