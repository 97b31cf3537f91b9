// Keeps track of where tensors are while steps are written, and of when copies and ops on the host are done.
// Each written step advances a clock exactly as in the simulator, so that the caller can decide which step
// comes next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/links.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/side_queues.h"

namespace rematlas::offmate {

struct Place {
    bool on_device = false, on_host = false;
    bool lives_on_host = false;  ///< whether the host holds bytes for the tensor during the whole step
    /// Ids in the queues: of the last copy each way, of the last op on the host that uses the tensor, and of
    /// the last op on the host that changes or makes it. -1: none.
    int to_host = -1, to_device = -1, host_op = -1, host_write = -1;
};

class ClockedPlaces {
  public:
    /// `flat` must outlive the object.
    ClockedPlaces(const FlatGraph& flat, const Links& links, std::optional<std::int64_t> host_budget)
        : flat_(flat), links_(links), host_budget_(host_budget), places_(flat.tensor_count) {}

    const Place& operator[](int tensor) const { return places_[tensor]; }
    std::int64_t held() const { return held_; }  ///< bytes on the device
    std::int64_t now() const { return queues_.now(); }
    std::int64_t link_busy_until() const {
        return busy_until_;
    }  ///< time in ns at which the link to the host becomes idle, if nothing slows its copies down
    std::vector<Step> take_steps() { return std::move(steps_); }

    /// Returns how many ns a copy of the tensor to the host takes with its latency, if nothing slows it down.
    std::int64_t time_out(int tensor) const;
    std::int64_t time_in(int tensor) const;
    /// Says whether no copy of the tensor to the host is under way.
    bool has_left(int tensor) const { return queues_.done(places_[tensor].to_host); }
    /// Says whether no copy of the tensor is under way, and no op on the host still has to read, change or
    /// make it.
    bool is_settled(int tensor) const;
    /// Says whether a fetch of the tensor could begin now if the link is free.
    bool can_come(int tensor) const { return has_left(tensor) && queues_.done(places_[tensor].host_write); }
    /// Says whether the host has room to offload the tensor.
    bool fits_host(int tensor) const;

    /// Sets where a tensor is at the start of the step. Returns false if the host has no room.
    bool begin(int tensor, bool on_device, bool lives_on_host);

    // Each of the following functions writes a step, which must be possible at this moment. `offload` may
    // only be called when the host has room.
    void offload(int tensor);
    void fetch(int tensor);
    void free(int tensor);
    void drop(int tensor);
    /// Runs an op on the device after waiting for the tensors in `read` and `changed`. The tensors in
    /// `changed` must not be on their way to the host.
    void run(int op, bool in_place, const std::vector<std::int32_t>& read,
             const std::vector<std::int32_t>& changed);
    /// Runs the op with the id `number` on the host. Returns false if the host has no room for its outputs.
    bool run_on_host(const Op& op, int number);

    void wait_for_all();

  private:
    std::int64_t copy_time(int tensor, double bytes_per_second) const;
    int copy(int tensor, SideQueue queue, double speed, double contended, std::vector<int> after);
    bool has_room(std::int64_t more) const { return !host_budget_ || host_held_ + more <= *host_budget_; }

    const FlatGraph& flat_;
    const Links links_;
    const std::optional<std::int64_t> host_budget_;
    std::vector<Place> places_;
    std::int64_t held_ = 0, host_held_ = 0, busy_until_ = 0;
    SideQueues queues_;
    std::vector<Step> steps_;
};

}  // namespace rematlas::offmate
