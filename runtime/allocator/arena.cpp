#include "runtime/allocator/arena.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace rematlas {
namespace {

/// All arenas that have an owner or whose memory is still held. The registry is never destroyed, because
/// tensors may outlive every static object.
struct Registry {
    std::shared_mutex mutex;
    std::vector<std::shared_ptr<Arena>> arenas;
    std::atomic<std::size_t> count{0};
};
Registry& registry() {
    static auto* all = new Registry;
    return *all;
}

constexpr std::size_t kLargePage = std::size_t{2} << 20;

void* reserve_pages(std::size_t bytes) {
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    if (bytes >= kLargePage) madvise(pages, bytes, MADV_HUGEPAGE);
    return pages;
}

}  // namespace

ArenaMemory host_memory() {
    return {.reserve = reserve_pages,
            .release = [](void* pages, std::size_t bytes) { munmap(pages, bytes); },
            .trim = [] { malloc_trim(0); }};
}

Arena::Arena(const std::vector<Request>& requests, RequestPlan plan, const ArenaMemory& memory)
    : memory_(memory),
      bytes_(plan.arena),
      offsets_(std::move(plan.offsets)),
      before_(std::move(plan.before)) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
        sizes_.push_back(requests[i].bytes);
        place_.push_back(
            places_.try_emplace(offsets_[i], static_cast<std::int32_t>(places_.size())).first->second);
    }
    holders_ = std::vector<std::atomic<std::int32_t>>(places_.size());
    for (auto& holder : holders_) holder.store(kNobody, std::memory_order_relaxed);
}

Arena::~Arena() {
    if (base_) memory_.release(base_, static_cast<std::size_t>(reserved_));
}

std::shared_ptr<Arena> Arena::create(const std::vector<Request>& requests, RequestPlan plan,
                                     const ArenaMemory& memory) {
    if (plan.arena == 0) return nullptr;
    std::shared_ptr<Arena> arena(new Arena(requests, std::move(plan), memory));
    Registry& all = registry();
    std::unique_lock lock(all.mutex);
    all.arenas.push_back(arena);
    all.count.store(all.arenas.size(), std::memory_order_release);
    return arena;
}

bool Arena::anything_held() const {
    return std::any_of(holders_.begin(), holders_.end(),
                       [](const auto& holder) { return holder.load(std::memory_order_acquire) != kNobody; });
}

bool Arena::reserve() {
    if (base_ || take_over()) return true;
    give_way(memory_.device);
    memory_.trim();  // returns unused memory of earlier steps to the system
    char* base = static_cast<char*>(memory_.reserve(static_cast<std::size_t>(bytes_)));
    std::unique_lock lock(registry().mutex);
    base_ = base;
    reserved_ = base ? bytes_ : 0;
    return base != nullptr;
}

/// Takes over the block of memory of an idle arena: the smallest block that is large enough. Returns false if
/// no block is large enough.
bool Arena::take_over() {
    Registry& all = registry();
    std::unique_lock lock(all.mutex);
    Arena* best = nullptr;
    for (const std::shared_ptr<Arena>& arena : all.arenas)
        if (arena->memory_.device == memory_.device && arena->is_idle() && arena->reserved_ >= bytes_ &&
            (!best || arena->reserved_ < best->reserved_))
            best = arena.get();
    if (!best) return false;
    base_ = std::exchange(best->base_, nullptr);
    reserved_ = std::exchange(best->reserved_, 0);
    return true;
}

bool Arena::begin_step() {
    {
        std::unique_lock lock(registry().mutex);
        in_step_ = true;
    }
    next_ = 0;
    on_plan_ = reserve();
    if (on_plan_) find_refused();
    return on_plan_;
}

void Arena::end_step() {
    std::unique_lock lock(registry().mutex);
    in_step_ = false;
}

/// Finds the requests that this step must refuse, because some of the bytes planned for them are still held.
void Arena::find_refused() {
    refused_.clear();
    for (const auto& holder : holders_) {
        const std::int32_t held = holder.load(std::memory_order_acquire);
        if (held == kNobody) continue;
        refused_.resize(offsets_.size(), 0);
        const std::int64_t low = offsets_[held], high = low + sizes_[held];
        for (std::size_t i = 0; i < offsets_.size(); ++i) {
            if (offsets_[i] < high && low < offsets_[i] + sizes_[i]) refused_[i] = 1;
        }
    }
}

void* Arena::take(std::size_t bytes) {
    if (!on_plan_) return nullptr;
    if (complete() || sizes_[next_] != static_cast<std::int64_t>(bytes)) {
        on_plan_ = false;
        return nullptr;
    }
    const std::size_t request = next_++;
    if (!refused_.empty() && refused_[request]) return nullptr;
    for (std::int32_t before : before_[request]) {
        if (taken(before)) {
            on_plan_ = false;
            return nullptr;
        }
    }
    holders_[place_[request]].store(static_cast<std::int32_t>(request), std::memory_order_release);
    return base_ + offsets_[request];
}

std::optional<std::int64_t> Arena::return_here(void* data) {
    const auto place = places_.find(static_cast<char*>(data) - base_);
    if (place == places_.end()) return std::nullopt;
    const std::int32_t request = holders_[place->second].exchange(kNobody, std::memory_order_acq_rel);
    if (request == kNobody) return std::nullopt;
    return sizes_[request];
}

bool Arena::holds(const void* data) {
    Registry& all = registry();
    if (all.count.load(std::memory_order_acquire) == 0) return false;
    std::shared_lock lock(all.mutex);
    return std::any_of(all.arenas.begin(), all.arenas.end(),
                       [&](const std::shared_ptr<Arena>& arena) { return arena->contains(data); });
}

std::optional<std::int64_t> Arena::give_back(void* data) {
    Registry& all = registry();
    if (all.count.load(std::memory_order_acquire) == 0) return std::nullopt;
    bool last = false;
    std::optional<std::int64_t> bytes;
    {
        std::shared_lock lock(all.mutex);
        for (const std::shared_ptr<Arena>& arena : all.arenas) {
            if (!arena->contains(data)) continue;
            bytes = arena->return_here(data);
            last = arena->retired_ && !arena->anything_held();
            break;
        }
    }
    if (last) retire(nullptr);
    return bytes;
}

bool Arena::give_way(int device) {
    Registry& all = registry();
    struct Gone {
        std::shared_ptr<Arena> arena;
        char* base;
        std::int64_t bytes;
    };
    std::vector<Gone> gone;
    {
        const std::unique_lock lock(all.mutex);
        for (const std::shared_ptr<Arena>& arena : all.arenas)
            if (arena->memory_.device == device && arena->is_idle())
                gone.push_back(
                    {arena, std::exchange(arena->base_, nullptr), std::exchange(arena->reserved_, 0)});
    }
    // Releasing GPU memory waits for the device, and thus for host functions in its streams. These functions
    // give memory back, which needs the lock. So the memory is released without the lock.
    for (const Gone& one : gone) one.arena->memory_.release(one.base, static_cast<std::size_t>(one.bytes));
    return !gone.empty();
}

void Arena::retire(std::shared_ptr<Arena> arena) {
    Registry& all = registry();
    std::vector<std::shared_ptr<Arena>> gone;  // destroyed after the lock is released
    std::unique_lock lock(all.mutex);
    if (arena) arena->retired_ = true;
    for (auto at = all.arenas.begin(); at != all.arenas.end();) {
        if (!(*at)->retired_ || (*at)->anything_held()) {
            ++at;
            continue;
        }
        gone.push_back(std::move(*at));
        at = all.arenas.erase(at);
    }
    all.count.store(all.arenas.size(), std::memory_order_release);
}

}  // namespace rematlas
