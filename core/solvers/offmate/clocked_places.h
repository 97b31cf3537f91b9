// The places of tensors while steps are written, and the times at which copies and ops on the host are done.
// This is the clock of the simulator, step by step, for code that decides which step comes next.
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
    bool lives_on_host = false;  ///< a resident whose bytes count on the host all along
    int to_host = -1, to_device = -1, host_op = -1, host_write = -1;  ///< works of the queues, or -1
};

class ClockedPlaces {
  public:
    /// `flat` must outlive it.
    ClockedPlaces(const FlatGraph& flat, const Links& links, std::optional<std::int64_t> host_budget)
        : flat_(flat), links_(links), host_budget_(host_budget), places_(flat.tensor_count) {}

    const Place& operator[](int tensor) const { return places_[tensor]; }
    std::int64_t held() const { return held_; }  ///< bytes on the device
    std::int64_t now() const { return queues_.now(); }
    std::int64_t link_busy_until() const {
        return busy_until_;
    }  ///< the link to the host, ns, if nothing slows its copies down
    std::vector<Step> take_steps() { return std::move(steps_); }

    /// The time of a copy that nothing else slows down, its latency included, ns.
    std::int64_t time_out(int tensor) const;
    std::int64_t time_in(int tensor) const;
    /// Whether no copy of the tensor to the host is under way.
    bool has_left(int tensor) const { return queues_.done(places_[tensor].to_host); }
    /// Whether no copy of the tensor is under way, and no op on the host that reads, changes or makes it.
    bool is_settled(int tensor) const;
    /// Whether a fetch would begin as soon as the link has time.
    bool can_come(int tensor) const { return has_left(tensor) && queues_.done(places_[tensor].host_write); }
    /// Whether the host has room for an offload.
    bool fits_host(int tensor) const;

    /// Places a tensor at the start of the step. Returns false if the host has no room.
    bool begin(int tensor, bool on_device, bool lives_on_host);

    // These write steps, which must be possible. `offload` needs room on the host.
    void offload(int tensor);
    void fetch(int tensor);
    void free(int tensor);
    void drop(int tensor);
    /// A run on the device, which waits for the tensors that it reads. `changed`: the tensors that it
    /// changes, of which no copy to the host may be under way.
    void run(int op, bool in_place, const std::vector<std::int32_t>& read,
             const std::vector<std::int32_t>& changed);
    /// A run on the host. Returns false if the host has no room for the tensors that the op makes.
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
