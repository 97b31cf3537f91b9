// Virtual time: how long a training step takes if its links have the given speeds, and its ops the given
// times. The clock follows the orders that the queues get, not the schedule, so superfluous and missing waits
// change the time that it shows.
//
//     LinkClock clock(graph, plan, links);
//     executor.run(schedule.steps, inputs, {.clock = &clock});    // or time_on_links, without a run
//     clock.now();
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/side_queues.h"
#include "runtime/transfers/transfer_plan.h"

namespace rematlas {

class LinkClock {
  public:
    /// Graph and plan must outlive the clock. The queue of an order decides which link its copy takes.
    LinkClock(const Graph& graph, const TransferPlan& plan, const Links& links)
        : graph_(graph), plan_(plan), links_(links) {}

    void begin();                        ///< begins a repetition; copies of the previous repetition may still
                                         ///< be running
    void tell(const QueueOrder& order);  ///< passes an order to its queue
    void run(Nanoseconds time) { queues_.move_to(queues_.now() + time.value); }  ///< an op runs on the device
    Nanoseconds now() const { return Nanoseconds(queues_.now()); }

  private:
    int copy(CopyQueue queue, TensorId tensor);
    int run_on_host(OpId op);

    const Graph& graph_;
    const TransferPlan& plan_;
    Links links_;
    SideQueues queues_;
    std::vector<int> started_, before_;  ///< by step: work that this repetition started; work that the
                                         ///< previous repetition started
    std::array<std::vector<int>, copy_queue_count> after_;  ///< by queue: work that the queue's next work
                                                            ///< waits for
};

/// Returns the time of one training step. `times` has, for each step of the schedule, the time of its run. No
/// copies are running at the beginning.
Nanoseconds time_on_links(const Graph& graph, const TransferPlan& plan, const Links& links,
                          std::span<const Nanoseconds> times);

}  // namespace rematlas
