#include "runtime/allocator/step_memory.h"

#include <mutex>
#include <unordered_map>

namespace rematlas {

/// The requests of a step so far, in order.
struct RequestLog {
    std::vector<Request> requests;
    std::int32_t moments = 0;
};

namespace {

/// A step is planned at most this many times. Some kernels prepare something in their first call only, so the
/// first step differs from the next. If a step keeps changing, further plans are not worth their time.
constexpr int kMostPlans = 4;

/// If an arena has more bytes than this, and exceeds the most bytes held at once by more than half a percent,
/// it is planned again with more effort.
constexpr std::int64_t kWorthTheEffort = std::int64_t{64} << 20;
constexpr std::int64_t kMoreEffort = 300'000'000;

thread_local StepMemory* innermost = nullptr;

/// The blocks that the system handed out to steps that are logged, by address. Any thread may give blocks
/// back.
class LoggedMemory {
  public:
    void taken(void* data, std::int64_t bytes, const std::shared_ptr<RequestLog>& log) {
        std::lock_guard lock(mutex_);
        log->requests.push_back({.bytes = bytes, .taken = log->moments++, .returned = -1});
        held_.insert_or_assign(data, Holder{log, log->requests.size() - 1});
        count_.store(held_.size(), std::memory_order_release);
    }
    void returned(void* data) {
        if (count_.load(std::memory_order_acquire) == 0) return;
        std::lock_guard lock(mutex_);
        const auto found = held_.find(data);
        if (found == held_.end()) return;
        RequestLog& log = *found->second.log;
        log.requests[found->second.request].returned = log.moments++;
        held_.erase(found);
        count_.store(held_.size(), std::memory_order_release);
    }
    /// Ends the log. Memory that is still held counts as held until the end of the step.
    void end(const std::shared_ptr<RequestLog>& log) {
        std::lock_guard lock(mutex_);
        std::erase_if(held_, [&](const auto& entry) { return entry.second.log == log; });
        count_.store(held_.size(), std::memory_order_release);
    }

  private:
    struct Holder {
        std::shared_ptr<RequestLog> log;
        std::size_t request;
    };
    std::mutex mutex_;
    std::unordered_map<void*, Holder> held_;
    std::atomic<std::size_t> count_{0};
};

/// The object is never destroyed, because tensors may outlive every static object.
LoggedMemory& logged_memory() {
    static auto* all = new LoggedMemory;
    return *all;
}

}  // namespace

StepMemory::StepMemory(const ArenaMemory& memory) : memory_(memory) {}

StepMemory::~StepMemory() {
    drop_log();
    drop_arena();
}

void StepMemory::begin_step(std::uint64_t key, std::int64_t most) {
    drop_log();
    most_ = most;
    if (!begun_ || key != key_) {
        drop_arena();
        report_ = {};
        plans_left_ = kMostPlans;
    }
    begun_ = true;
    key_ = key;
    report_.system_allocations = 0;
    if (arena_) {
        if (++runs_ == 2) memory_.trim();  // also returns blocks of the logged step, which are free now
        memory_.await_users();
        fitted_ = arena_->begin_step();
        report_.arena_bytes = fitted_ ? arena_->bytes() : 0;
        return;
    }
    if (plans_left_ == 0) return;
    Arena::give_way(memory_.device);
    memory_.trim();  // returns blocks that earlier work left free
    log_ = std::make_shared<RequestLog>();
}

void StepMemory::end_step() {
    if (log_) return plan();
    if (!arena_) return;
    arena_->end_step();
    if (!fitted_ || (arena_->on_plan() && arena_->complete())) return;
    ++report_.deviations;
    if (plans_left_ > 0) drop_arena();
}

void StepMemory::plan() {
    logged_memory().end(log_);
    const std::shared_ptr<RequestLog> log = std::move(log_);
    log_ = nullptr;
    --plans_left_;
    RequestPlan plan = plan_requests(log->requests, {.alignment = memory_.alignment});
    const bool is_loose = plan.arena > kWorthTheEffort && plan.arena > plan.live_peak + plan.live_peak / 200;
    if (is_loose || (plan.arena > most_ && plan.arena > plan.live_peak)) {
        RequestPlan better =
            plan_requests(log->requests, {.alignment = memory_.alignment, .effort = kMoreEffort});
        if (better.arena < plan.arena) plan = std::move(better);
    }
    if (!check_requests(log->requests, plan, memory_.alignment)) return;
    runs_ = 0;
    arena_ = Arena::create(log->requests, std::move(plan), memory_);
    if (arena_) report_.arena_bytes = arena_->bytes();
}

void StepMemory::drop_arena() {
    if (arena_) Arena::retire(std::move(arena_));
    arena_ = nullptr;
    report_.arena_bytes = 0;
}

void StepMemory::drop_log() {
    if (log_) logged_memory().end(log_);
    log_ = nullptr;
}

StepMemory::Scope::Scope(StepMemory* memory) : outer_(innermost) {
    innermost = memory;
}
StepMemory::Scope::~Scope() {
    innermost = outer_;
}

StepMemory* StepMemory::active(int device) {
    return innermost && innermost->memory_.device == device ? innermost : nullptr;
}

void* StepMemory::take(std::size_t bytes) {
    return arena_ ? arena_->take(bytes) : nullptr;
}

void StepMemory::served(void* data, std::size_t bytes) {
    ++report_.system_allocations;
    if (log_) logged_memory().taken(data, static_cast<std::int64_t>(bytes), log_);
}

std::optional<std::int64_t> StepMemory::give_back(void* data) {
    if (innermost && innermost->arena_ && innermost->arena_->contains(data))
        return innermost->arena_->return_here(data);
    if (const auto bytes = Arena::give_back(data)) return bytes;
    logged_memory().returned(data);
    return std::nullopt;
}

StepMemoryCalls step_memory_calls() {
    return {.active = &StepMemory::active,
            .logs = [](const StepMemory& memory) { return memory.logs(); },
            .take = [](StepMemory& memory, std::size_t bytes) { return memory.take(bytes); },
            .served = [](StepMemory& memory, void* data, std::size_t bytes) { memory.served(data, bytes); },
            .give_back = &StepMemory::give_back,
            .give_way = &Arena::give_way,
            .room_maker = &MemoryLimit::maker};
}

}  // namespace rematlas
