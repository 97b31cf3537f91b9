// Virtual time: how long a step takes where its links are as fast as is said, and its ops take what they are
// said to. Driven by the orders that the queues get, not by the schedule: what is waited for too
// much or too little shows here.
//
//     LinkClock clock(graph, plan, links);
//     executor.run(..., {.clock = &clock});       // or time_on_links, without a run
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
    /// Graph and plan must outlive the clock. The links copy whichever way the plan does.
    LinkClock(const Graph& graph, const TransferPlan& plan, const Links& links)
        : graph_(graph), plan_(plan), links_(links) {}

    void begin();                        ///< of a repetition, whose copies may follow those of the last
    void tell(const QueueOrder& order);  ///< a queue gets an order
    void run(Nanoseconds time) { queues_.move_to(queues_.now() + time.value); }  ///< compute goes on
    Nanoseconds now() const { return Nanoseconds(queues_.now()); }

  private:
    int copy(CopyQueue queue, TensorId tensor);
    int run_on_host(OpId op);

    const Graph& graph_;
    const TransferPlan& plan_;
    Links links_;
    SideQueues queues_;
    std::vector<int> started_, before_;  ///< by step: what this repetition started, and the last
    std::array<std::vector<int>, copy_queue_count> after_;  ///< by queue: what its next work waits for
};

/// Of one step whose runs take these times, by step; nothing is under way when it begins.
Nanoseconds time_on_links(const Graph& graph, const TransferPlan& plan, const Links& links,
                          std::span<const Nanoseconds> times);

}  // namespace rematlas
