#include "runtime/allocator/step_memory.h"

#include <mutex>
#include <unordered_map>

namespace rematlas {

/// The requests of a step so far.
struct RecordedStep {
    std::vector<Request> requests;
    std::int32_t moments = 0;
};

namespace {

/// Kernels that prepare something once make the first step differ from the next; a step that differs from
/// itself again and again is not worth planning anew each time.
constexpr int kMostPlans = 4;

/// An arena of this size is planned with more effort when it is more than half a percent above what is held.
constexpr std::int64_t kWorthTheEffort = std::int64_t{64} << 20;
constexpr std::int64_t kMoreEffort = 300'000'000;

thread_local StepMemory* innermost = nullptr;

/// What the system served to steps that are recorded, by address: any thread may give it back.
class RecordedMemory {
  public:
    void taken(void* data, std::int64_t bytes, const std::shared_ptr<RecordedStep>& step) {
        std::lock_guard lock(mutex_);
        step->requests.push_back({.bytes = bytes, .taken = step->moments++, .returned = -1});
        held_.insert_or_assign(data, Holder{step, step->requests.size() - 1});
        count_.store(held_.size(), std::memory_order_release);
    }
    void returned(void* data) {
        if (count_.load(std::memory_order_acquire) == 0) return;
        std::lock_guard lock(mutex_);
        const auto found = held_.find(data);
        if (found == held_.end()) return;
        RecordedStep& step = *found->second.step;
        step.requests[found->second.request].returned = step.moments++;
        held_.erase(found);
        count_.store(held_.size(), std::memory_order_release);
    }
    /// What is held now was held at the end.
    void end(const std::shared_ptr<RecordedStep>& step) {
        std::lock_guard lock(mutex_);
        std::erase_if(held_, [&](const auto& entry) { return entry.second.step == step; });
        count_.store(held_.size(), std::memory_order_release);
    }

  private:
    struct Holder {
        std::shared_ptr<RecordedStep> step;
        std::size_t request;
    };
    std::mutex mutex_;
    std::unordered_map<void*, Holder> held_;
    std::atomic<std::size_t> count_{0};
};

/// Never destroyed: tensors may outlive every static.
RecordedMemory& recorded_memory() {
    static auto* all = new RecordedMemory;
    return *all;
}

}  // namespace

StepMemory::StepMemory(const ArenaMemory& memory) : memory_(memory) {}

StepMemory::~StepMemory() {
    drop_recording();
    drop_arena();
}

void StepMemory::begin_step(std::uint64_t key, std::int64_t most) {
    drop_recording();
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
        if (++runs_ == 2) memory_.trim();  // what the recorded step handed out is given back by now
        memory_.await_users();
        fitted_ = arena_->begin_step();
        report_.arena_bytes = fitted_ ? arena_->bytes() : 0;
        return;
    }
    if (plans_left_ == 0) return;
    memory_.trim();  // what ran before took other blocks
    recording_ = std::make_shared<RecordedStep>();
}

void StepMemory::end_step() {
    if (recording_) return plan();
    if (!arena_) return;
    arena_->end_step();
    if (!fitted_ || (arena_->on_plan() && arena_->complete())) return;
    ++report_.deviations;
    if (plans_left_ > 0) drop_arena();
}

void StepMemory::plan() {
    recorded_memory().end(recording_);
    const std::shared_ptr<RecordedStep> step = std::move(recording_);
    recording_ = nullptr;
    --plans_left_;
    RequestPlan plan = plan_requests(step->requests, {.alignment = memory_.alignment});
    const bool is_loose = plan.arena > kWorthTheEffort && plan.arena > plan.live_peak + plan.live_peak / 200;
    if (is_loose || (plan.arena > most_ && plan.arena > plan.live_peak)) {
        RequestPlan better =
            plan_requests(step->requests, {.alignment = memory_.alignment, .effort = kMoreEffort});
        if (better.arena < plan.arena) plan = std::move(better);
    }
    if (!check_requests(step->requests, plan, memory_.alignment)) return;
    runs_ = 0;
    arena_ = Arena::create(step->requests, std::move(plan), memory_);
    if (arena_) report_.arena_bytes = arena_->bytes();
}

void StepMemory::drop_arena() {
    if (arena_) Arena::retire(std::move(arena_));
    arena_ = nullptr;
    report_.arena_bytes = 0;
}

void StepMemory::drop_recording() {
    if (recording_) recorded_memory().end(recording_);
    recording_ = nullptr;
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
    if (recording_) recorded_memory().taken(data, static_cast<std::int64_t>(bytes), recording_);
}

std::optional<std::int64_t> StepMemory::give_back(void* data) {
    if (innermost && innermost->arena_ && innermost->arena_->contains(data))
        return innermost->arena_->return_here(data);
    if (const auto bytes = Arena::give_back(data)) return bytes;
    recorded_memory().returned(data);
    return std::nullopt;
}

StepMemoryCalls step_memory_calls() {
    return {.active = &StepMemory::active,
            .take = [](StepMemory& memory, std::size_t bytes) { return memory.take(bytes); },
            .served = [](StepMemory& memory, void* data, std::size_t bytes) { memory.served(data, bytes); },
            .give_back = &StepMemory::give_back,
            .give_way = &Arena::give_way,
            .room_maker = &MemoryLimit::maker};
}

}  // namespace rematlas
