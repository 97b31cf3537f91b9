// The work of the links and the host at each step of a schedule with copies, and what waits for what. It is
// known before the first run.
//
//     Result<TransferPlan> plan = TransferPlan::make(graph, schedule.steps, schedule.homes);
//     allocate(plan->slab_bytes);         // copies on the host lie there, at planned places
//     for (const QueueOrder& order : plan->first[step]) ...        // or let a TransferPlayer do it
//
// docs/concepts/schedules.md says what waits for what. Real times differ from the predicted ones, so a step
// also waits where the checker would refuse it by predicted times: before it writes over, frees or updates
// bytes that are under way. A wait that follows from earlier waits is left out, and so is a mark for which
// nothing waits.
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

/// One order to a queue.
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
    bool last_time = false;  ///< for wait_for_work: the previous repetition started the work
    bool marked = false;     ///< for copy and run: something waits for the work
    bool operator==(const QueueOrder&) const = default;
};

/// Orders by step. The orders after those of the last step belong to the end.
struct QueueOrders {
    std::vector<QueueOrder> orders;
    std::vector<std::uint32_t> begin{0};
    std::span<const QueueOrder> operator[](std::size_t step) const {
        return {orders.data() + begin[step], begin[step + 1] - begin[step]};
    }
    bool operator==(const QueueOrders&) const = default;
};

/// A place of a tensor on the host: a part of the slab for a while, or a home outside of the slab.
struct HostPlace {
    TensorId tensor;
    std::int64_t offset = 0, bytes = 0;
    std::int32_t taken = -1;  ///< the step that offloads or makes the tensor; -1: a home, taken from the
                              ///< start
    std::int32_t left = 0;    ///< the step after which the place is free again; the number of steps: the end
    bool kept = false;        ///< kept after the end too: homes of residents, and results that end on the
                              ///< host
};

/// An op that runs on the host, and the places of the tensors that it reads, updates and makes.
struct HostRun {
    struct Operand {
        TensorId tensor;
        std::int32_t place = -1;  ///< index into TransferPlan::places
    };
    std::int32_t step = -1;
    std::vector<Operand> operands = {};
};

/// A pause in which the caller uses memory of the step. Before the caller continues, which is before step
/// `before`, compute waits for copies of these tensors.
struct TransferPause {
    std::size_t before = 0;
    std::vector<TensorId> of = {};
};

struct TransferPlan {
    std::vector<Step> steps = {};
    /// Orders of the first repetition. Nothing is under way when it starts.
    QueueOrders first = {};
    /// Orders of every later repetition of cyclic steps. Copies of the previous repetition may be under
    /// way.
    QueueOrders steady = {};
    /// Orders by pause in the first repetition, once the step before the pause is done.
    QueueOrders pauses = {};
    std::vector<std::size_t> paused_before = {};
    std::vector<HostPlace> places = {};    ///< in the order in which they are taken
    std::vector<std::int32_t> place = {};  ///< by step: for a copy, its index into `places`; else -1
    std::vector<HostRun> host_runs = {};   ///< in the order of steps
    /// Pairs of a step and a place that is left after the step, ascending.
    std::vector<std::pair<std::int32_t, std::int32_t>> leaving = {};
    std::int64_t slab_bytes = 0;  ///< bytes of the slab, which holds all places except homes
    std::int64_t home_bytes = 0;  ///< bytes of the homes, if they lie together: their offsets count from
                                  ///< there
    Bytes host_peak = {};         ///< peak of bytes on the host as the file format counts it: exact, without
                                  ///< gaps

    bool moves_anything() const { return !places.empty(); }
    /// The run of a step that runs an op on the host.
    const HostRun& host_run(std::size_t step) const;

    /// `steps` have passed `check`; `pauses` are in the order of steps. Errors: steps that are impossible
    /// on the graph, as far as planning finds out. Cost: that of packing the slab.
    static Result<TransferPlan> make(const Graph& graph, std::span<const Step> steps, const Homes& homes = {},
                                     std::span<const TransferPause> pauses = {});
};

}  // namespace rematlas
