// The work of the links and the host at each step of a schedule with copies, and the waits between them. All
// of this is known before the first run.
//
//     Result<TransferPlan> plan = TransferPlan::make(graph, schedule.steps, schedule.homes);
//     allocate(plan->slab_bytes);         // for copies on the host, at planned places
//     for (const QueueOrder& order : plan->first[step]) ...        // or let a TransferPlayer do it
//
// A repetition is one run of all steps of the schedule. docs/concepts/schedules.md lists the waits. The
// checker makes sure that, by the predicted times, no step writes over, frees or updates bytes that are being
// copied. Real times differ, so the plan makes each step that does this wait for the copy. A wait that
// follows from earlier waits is left out, and so is a mark for which nothing waits.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/transfers/copy_queues.h"

namespace rematlas {

/// An order to a queue.
struct QueueOrder {
    enum class Kind : std::uint8_t {
        wait_for_compute,  ///< the queue waits until compute reaches this step
        wait_for_work,     ///< the queue waits for the copy, or the op on the host, that `step` started
        copy,              ///< the queue copies the tensor of this step
        run,               ///< the queue runs the op of this step
    };
    Kind kind = Kind::copy;
    CopyQueue queue = CopyQueue::compute;
    std::int32_t step = -1;
    bool last_time = false;  ///< for wait_for_work: whether the previous repetition started the work
    bool marked = false;     ///< for copy and run: whether something waits for the work
    bool operator==(const QueueOrder&) const = default;
};

/// The orders of each step. After the last step come the orders for the end of the repetition.
struct QueueOrders {
    std::vector<QueueOrder> orders;
    std::vector<std::uint32_t> begin{0};
    std::span<const QueueOrder> operator[](std::size_t step) const {
        return {orders.data() + begin[step], begin[step + 1] - begin[step]};
    }
    bool operator==(const QueueOrders&) const = default;
};

/// A tensor's place on the host: a part of the slab for some time, or a home outside of the slab.
struct HostPlace {
    TensorId tensor;
    std::int64_t offset = 0, bytes = 0;
    std::int32_t taken = -1;  ///< step that offloads or makes the tensor; -1 for a home, which is taken from
                              ///< the start
    std::int32_t left = 0;  ///< step after which the place is free again; the number of steps if the place is
                            ///< taken until the end
    bool kept = false;      ///< whether the place is kept after the end, because it is a home, or holds a
                            ///< result that ends on the host
};

/// An op that runs on the host, and the places of the tensors that it reads, updates and makes.
struct HostRun {
    struct Operand {
        TensorId tensor;
        std::int32_t place = -1;  ///< index in TransferPlan::places
    };
    std::int32_t step = -1;
    std::vector<Operand> operands = {};
};

/// A pause before step `before`, in which the caller uses tensors of the training step. When the pause
/// begins, compute waits for the copies of the tensors in `of`.
struct TransferPause {
    std::size_t before = 0;
    std::vector<TensorId> of = {};
};

struct TransferPlan {
    std::vector<Step> steps = {};
    /// Orders of the first repetition. When the repetition starts, the queues have no unfinished work.
    QueueOrders first = {};
    /// Orders of every later repetition of cyclic steps. When such a repetition starts, copies of the
    /// previous one may still be running.
    QueueOrders steady = {};
    /// Orders for each pause in the first repetition, given when the step before the pause is done.
    QueueOrders pauses = {};
    std::vector<std::size_t> paused_before = {};
    std::vector<HostPlace> places = {};    ///< places on the host, in the order in which they are taken
    std::vector<std::int32_t> place = {};  ///< by step: for a copy, the index of its place in `places`; else
                                           ///< -1
    std::vector<HostRun> host_runs = {};   ///< ops that run on the host, in the order of steps
    /// Pairs of a step and a place that is free after the step, in ascending order.
    std::vector<std::pair<std::int32_t, std::int32_t>> leaving = {};
    std::int64_t slab_bytes = 0;  ///< bytes of the slab, which holds all places except homes
    std::int64_t home_bytes = 0;  ///< bytes of one block that has room for all homes; the offset of a home
                                  ///< counts from the start of this block
    Bytes host_peak = {};         ///< peak of the tensors' own bytes on the host, without gaps between them

    bool moves_anything() const { return !places.empty(); }
    /// Returns the host run of a step that runs an op on the host.
    const HostRun& host_run(std::size_t step) const;

    /// `steps` must have passed `check`; `pauses` must be in the order of steps. Fails if planning finds that
    /// the steps are impossible on the graph. Cost: the cost of packing the slab.
    static Result<TransferPlan> make(const Graph& graph, std::span<const Step> steps, const Homes& homes = {},
                                     std::span<const TransferPause> pauses = {});
};

}  // namespace rematlas
