// Carries out a transfer plan: gives the queues their orders, step by step, for one repetition after the
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
// Threads: only one thread may use a player.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/transfers/link_clock.h"
#include "runtime/transfers/transfer_plan.h"

namespace rematlas {

class TransferPlayer {
  public:
    /// Called with memory on the host that nobody needs any more; tests overwrite that memory.
    using Forgotten = std::function<void(void* data, std::size_t bytes)>;

    /// `slab`: memory of at least TransferPlan::slab_bytes. All arguments must outlive the player.
    TransferPlayer(const TransferPlan& plan, CopyQueues& copies, void* slab, Forgotten forgotten = {})
        : plan_(plan),
          copies_(copies),
          slab_(static_cast<char*>(slab)),
          homes_(plan.places.size(), nullptr),
          forgotten_(std::move(forgotten)) {}
    ~TransferPlayer();
    TransferPlayer(const TransferPlayer&) = delete;
    TransferPlayer& operator=(const TransferPlayer&) = delete;

    /// Sets the address of a place that is a home. Must be called before the first step, and whenever the
    /// home has moved.
    void set_home(std::size_t number, void* data) { homes_[number] = data; }
    /// Begins a repetition. `clock` may be null; otherwise it advances with the repetition.
    void begin(LinkClock* clock = nullptr);
    /// Gives the queues the orders of a step. Must be called before the step. `device` and `bytes`: for a
    /// step that copies, the address of the tensor on the device, and the bytes to copy. `work`: the work of
    /// an op that runs on the host.
    void give(std::size_t step, void* device = nullptr, std::size_t bytes = 0,
              std::function<void()> work = {});
    /// Frees the places of tensors that a step removes from the host. Must be called after the step.
    void leave(std::size_t step);
    /// If the plan has a pause before step `before`, makes compute wait for the copies of this pause. Must be
    /// called before the caller uses the tensors of the pause.
    void pause(std::size_t before);
    /// Must be called after the last step. Work that compute is given from now on begins when all copies are
    /// done, except for copies that go on in the next repetition.
    void end();
    /// Waits for all copies and ops on the host that are still running. May be called in the middle of a
    /// repetition, or after `end`. Afterwards the next repetition begins with no work running.
    void settle();

    void* place(std::size_t number) const {
        const HostPlace& place = plan_.places[number];
        return place.taken < 0 ? homes_[number] : slab_ + place.offset;
    }
    Bytes host_peak() const { return peak_; }  ///< peak of the bytes on the host since the last `begin`

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
    std::vector<void*> homes_;  ///< addresses of homes, by place
    Forgotten forgotten_;
    LinkClock* clock_ = nullptr;
    const QueueOrders* orders_ = nullptr;
    std::vector<std::optional<Mark>> now_,
        before_;  ///< marks by step: of work that this repetition started; of work that the previous
                  ///< repetition started
    std::vector<std::uint8_t> occupied_;
    std::size_t next_leaving_ = 0;
    bool goes_on_ = false;  ///< whether the last repetition ended with copies still running
    bool in_step_ = false;
    Bytes held_, peak_;
};

}  // namespace rematlas
