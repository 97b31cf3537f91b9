// Carries out a transfer plan: gives the queues their orders, step by step, in one repetition after the
// other.
//
//     TransferPlayer player(plan, copies, slab);
//     player.begin();
//     for (std::size_t step = 0; step < plan.steps.size(); ++step) {
//         ... a fetch: memory on the device ...
//         player.give(step, data, bytes);          // then the step itself: run, or give memory back
//         player.leave(step);
//     }
//     player.end();
//
// Threads: one.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/transfers/link_clock.h"
#include "runtime/transfers/transfer_plan.h"

namespace rematlas {

class TransferPlayer {
  public:
    /// Told of memory on the host that nobody needs any more: tests overwrite it.
    using Forgotten = std::function<void(void* data, std::size_t bytes)>;

    /// `slab`: TransferPlan::slab_bytes, or more. All must outlive the player.
    TransferPlayer(const TransferPlan& plan, CopyQueues& copies, void* slab, Forgotten forgotten = {})
        : plan_(plan),
          copies_(copies),
          slab_(static_cast<char*>(slab)),
          homes_(plan.places.size(), nullptr),
          forgotten_(std::move(forgotten)) {}
    ~TransferPlayer();
    TransferPlayer(const TransferPlayer&) = delete;
    TransferPlayer& operator=(const TransferPlayer&) = delete;

    /// Where that place, which is a home, lies: before the first step, and where it has moved since.
    void set_home(std::size_t number, void* data) { homes_[number] = data; }
    /// A repetition begins. `clock` runs with it, when there is one.
    void begin(LinkClock* clock = nullptr);
    /// Before a step: the queues get what belongs to it. `device`: of a step that copies, where the tensor
    /// lies there, and how many bytes of it are copied. `work`: of an op that runs on the host.
    void give(std::size_t step, void* device = nullptr, std::size_t bytes = 0,
              std::function<void()> work = {});
    /// After a step: what it leaves on the host has no place there any more.
    void leave(std::size_t step);
    /// Before the caller gets to what the plan's pause before that step names; nothing where there is none.
    void pause(std::size_t before);
    /// After the last step. What compute is given from now on finds all done, but for copies that go on in the
    /// next repetition.
    void end();
    /// The next repetition finds nothing under way. Here and now waits for what compute has not waited for: in
    /// the middle of a step, and for copies that go on after it.
    void settle();

    void* place(std::size_t number) const {
        const HostPlace& place = plan_.places[number];
        return place.taken < 0 ? homes_[number] : slab_ + place.offset;
    }
    Bytes host_peak() const { return peak_; }  ///< of what was on the host since the last begin

  private:
    void synchronize();
    void carry_out(const QueueOrder& order, void* device, std::size_t bytes, std::function<void()>& work);
    void start(const QueueOrder& order, void* device, std::size_t bytes, std::function<void()>& work);
    void occupy(std::int32_t number);
    void vacate(std::int32_t number);
    void release(std::vector<std::optional<Mark>>& marks);

    const TransferPlan& plan_;
    CopyQueues& copies_;
    char* slab_;
    std::vector<void*> homes_;  ///< by place, of those that are homes
    Forgotten forgotten_;
    LinkClock* clock_ = nullptr;
    const QueueOrders* orders_ = nullptr;
    std::vector<std::optional<Mark>> now_,
        before_;  ///< by step: of what this repetition started, and the last
    std::vector<std::uint8_t> occupied_;
    std::size_t next_leaving_ = 0;
    bool goes_on_ = false;  ///< the last repetition ended with copies under way
    bool in_step_ = false;
    Bytes held_, peak_;
};

}  // namespace rematlas
