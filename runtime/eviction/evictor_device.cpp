// Eviction on a device that works asynchronously: the times of ops, and the queues on which ops run.
//
// All tensors that can be evicted are made, read and restored on one queue, so that memory is reused in the
// order in which it was freed. Tensors that ops on other queues read or make are not evicted.
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <utility>

#include "runtime/device/measured_time.h"
#include "runtime/eviction/evictor.h"

namespace rematlas {
namespace {

c10::impl::VirtualGuardImpl streams_of(const c10::Device& device) {
    return c10::impl::VirtualGuardImpl(device.type());
}

}  // namespace

// Functions for costs.

std::int64_t Evictor::run_timed(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                torch::jit::Stack* stack) {
    if (options_.costs_from_bytes) return run_kernel(op, keys, stack), 0;
    const auto counted = [&](std::int64_t time) {
        return counted_time(op.operator_name().name, Nanoseconds(time)).value;
    };
    if (device_.device().is_cpu()) {
        const std::int64_t began = wall_clock();
        run_kernel(op, keys, stack);
        return counted(wall_clock() - began);
    }
    const std::uint64_t kind = OpTimes::kind_of(op, *stack);
    if (const auto known = times_.of(kind)) return run_kernel(op, keys, stack), *known;
    const std::int64_t began = device_.now();
    run_kernel(op, keys, stack);
    return times_.measured(kind, counted(device_.now() - began));
}

// Functions for queues.

void Evictor::begin_on_queue() {
    device_.prepare();
    queue_ = device_.queue();
    stream_ = streams_of(device_.device()).getStream(device_.device());
}

bool Evictor::on_own_queue() const {
    return device_.queue() == queue_;
}

/// Must be called at the end of a step. Warns once if most ops of the step ran on other queues than the
/// evictor's, because then almost nothing can be evicted.
void Evictor::warn_of_other_queues() {
    const std::int64_t elsewhere = std::exchange(calls_elsewhere_, 0);
    if (warned_ || 2 * elsewhere <= calls_ - calls_at_step_) return;
    warned_ = true;
    TORCH_WARN("rematlas: ", elsewhere, " of ", calls_ - calls_at_step_,
               " ops of a step ran on another stream than that which was current at the beginning of the "
               "eviction: what they read and make stays; begin it on the stream that trains");
}

/// Makes this thread's queue wait for all work that has been submitted to the evictor's queue so far.
void Evictor::wait_for_own_queue() const {
    if (on_own_queue()) return;
    c10::Event done(stream_.device_type());
    done.record(stream_);
    done.block(streams_of(device_.device()).getStream(device_.device()));
}

/// Prevents reuse of the memory until the work on this thread's queue that uses the memory is done.
void Evictor::used_by_this_queue(const c10::DataPtr& memory) const {
    if (!memory || device_.device().is_cpu()) return;
    const c10::impl::VirtualGuardImpl streams = streams_of(device_.device());
    streams.recordDataPtrOnStream(memory, streams.getStream(device_.device()));
}

void Evictor::used_by_own_queue(const c10::DataPtr& memory) const {
    if (memory && !device_.device().is_cpu())
        streams_of(device_.device()).recordDataPtrOnStream(memory, stream_);
}

void Evictor::run_stored_on_queue(int op, bool in_place) {
    if (device_.device().is_cpu()) return run_stored(op, in_place);
    const c10::StreamGuard ours(stream_);
    run_stored(op, in_place);
}

// Functions of RoomMaker.

int Evictor::memory() const {
    return device_.device().is_cpu() ? the_host : device_.device().index();
}

void Evictor::before_allocation(std::int64_t bytes) {
    if (measures_) measure(bytes);
    // `alive` is slow on a GPU, because the allocator copies all its statistics in each call. So it is called
    // a second time only if memory had to be freed.
    std::int64_t before = alive();
    if (before + device_.most_footprint(bytes) > limit_) {
        take_room(bytes);
        before = alive();
    }
    const auto raise = [](std::atomic<std::int64_t>& most, std::int64_t to) {
        std::int64_t now = most;
        while (now < to && !most.compare_exchange_weak(now, to)) {
        }
    };
    const std::int64_t then = before + device_.footprint(bytes);
    raise(most_alive_, then);
    if (reruns_ == 0) raise(program_memory_.most, then + beside_ + program_memory_.absent);
}

std::int64_t Evictor::ProgramMemory::alive_bytes() const {
    const Engine engine(evictor.engine_);
    if (evictor.reruns_ == 0) evictor.let_departed_go();
    return evictor.device_.alive_bytes() + absent;
}

std::optional<std::string> Evictor::make_room(std::int64_t bytes) {
    const Engine engine(engine_);
    if (evict_all_for(bytes)) return std::nullopt;
    asked_ = bytes;
    return current_ + why_short();
}

/// Evicts until `bytes` bytes more fit into the limit. Throws if they do not fit and the budget must be kept.
void Evictor::take_room(std::int64_t bytes) {
    const Engine engine(engine_);
    if (evict_all_for(bytes)) return;
    asked_ = bytes;
    const std::int64_t least = std::max<std::int64_t>(limit_, alive() + device_.most_footprint(bytes));
    if (!give_up(current_ + why_short(), least)) fail(current_);
}

bool Evictor::evict_all_for(std::int64_t bytes) {
    if (evict_for(bytes)) return true;
    if (reruns_ > 0) return false;  // the rerun perhaps reads a storage that the program has dropped
    let_departed_go();
    return evict_for(bytes);
}

bool Evictor::evict_for(std::int64_t bytes) {
    evicting_ = true;
    const bool made = eviction_.make_room(bytes);
    evicting_ = false;
    return made;
}

/// Called when the device has less memory than the budget, or has memory only in small pieces. Evicts as if
/// the budget were the bytes that are alive now.
bool Evictor::give_way(std::int64_t bytes) {
    const Engine engine(engine_);
    const std::int64_t before = alive(), limit = limit_;
    if (reruns_ == 0) let_departed_go();
    limit_ = std::min(limit, before);
    evict_for(bytes);
    limit_ = limit;
    return alive() < before;
}

const c10::DataPtr& Evictor::behind(const c10::DataPtr& pointer) const {
    return memory_behind(pointer);
}

}  // namespace rematlas
