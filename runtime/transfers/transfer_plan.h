// What the links and the host have to do at each step of a schedule with copies, and what has to wait for what:
// known before the first run.
//
//     Result<TransferPlan> plan = TransferPlan::make(graph, schedule.steps, schedule.homes);
//     allocate(plan->slab_bytes);         // copies on the host lie there, at planned places
//     for (const QueueOrder& order : plan->first[step]) ...        // or let a TransferPlayer do it
//
// core/schedule/README.md says what waits for what. Times here are others than predicted, so a step also waits
// where the checker would have refused it: before it writes over, frees or updates bytes that are under way. A
// wait that follows from earlier ones is left out, and so is a mark that nothing waits for.
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

/// One thing that a queue is told.
struct QueueOrder {
    enum class Kind : std::uint8_t {
        wait_for_compute,  ///< the queue waits until compute gets here
        wait_for_work,     ///< the queue waits for the copy, or the op on the host, that `step` started
        copy,              ///< the queue copies the tensor of this step
        run,               ///< the queue runs the op of this step
    };
    Kind kind = Kind::copy;
    CopyQueue queue = CopyQueue::compute;
    std::int32_t step = -1;
    bool last_time = false;  ///< of wait_for_work: the repetition before this one started it
    bool marked = false;     ///< of copy and run: something waits for it
    bool operator==(const QueueOrder&) const = default;
};

/// Orders by step; those after the last step are of the end.
struct QueueOrders {
    std::vector<QueueOrder> orders;
    std::vector<std::uint32_t> begin{0};
    std::span<const QueueOrder> operator[](std::size_t step) const {
        return {orders.data() + begin[step], begin[step + 1] - begin[step]};
    }
    bool operator==(const QueueOrders&) const = default;
};

/// Where a tensor lies on the host: a part of the slab for a while, or at home, outside of it.
struct HostPlace {
    TensorId tensor;
    std::int64_t offset = 0, bytes = 0;
    std::int32_t taken = -1;  ///< the step that offloads or makes it; -1: at home, there from the start
    std::int32_t left = 0;    ///< the step after which it is free again; the number of steps: the end
    bool kept = false;        ///< after the end too: of residents, and of results that are at home there
};

/// An op that runs on the host, and where it finds what it reads, updates and makes.
struct HostRun {
    struct Operand {
        TensorId tensor;
        std::int32_t place = -1;  ///< its number in TransferPlan::places
    };
    std::int32_t step = -1;
    std::vector<Operand> operands = {};
};

/// Where the caller uses memory of the step's in between: compute waits for copies of these tensors before the
/// caller gets to it, which is before this step.
struct TransferPause {
    std::size_t before = 0;
    std::vector<TensorId> of = {};
};

struct TransferPlan {
    std::vector<Step> steps = {};
    /// Nothing is under way when it starts.
    QueueOrders first = {};
    /// Of cyclic steps: follows a repetition of itself whose copies may be under way.
    QueueOrders steady = {};
    /// Of the first repetition: by pause, once the step before it is done.
    QueueOrders pauses = {};
    std::vector<std::size_t> paused_before = {};
    std::vector<HostPlace> places = {};    ///< in the order in which they are taken
    std::vector<std::int32_t> place = {};  ///< by step that copies: its number in `places`; else -1
    std::vector<HostRun> host_runs = {};   ///< in the order of steps
    /// The step, and the place that is left after it, ascending.
    std::vector<std::pair<std::int32_t, std::int32_t>> leaving = {};
    std::int64_t slab_bytes = 0;  ///< for all but homes
    std::int64_t home_bytes = 0;  ///< for homes, where they lie together: their offsets count from there
    Bytes host_peak = {};         ///< as the format counts it: to the byte, without gaps

    bool moves_anything() const { return !places.empty(); }
    /// Of a step that runs an op on the host.
    const HostRun& host_run(std::size_t step) const;

    /// `steps` have passed `check`; `pauses` are in the order of steps. Errors: steps that are not possible on the
    /// graph, as far as it takes to plan them. Cost: that of packing the slab.
    static Result<TransferPlan> make(const Graph& graph, std::span<const Step> steps, const Homes& homes = {},
                                     std::span<const TransferPause> pauses = {});
};

}  // namespace rematlas
