// One run of a training step: the tensors that exist, the states of the random number generator, and the
// measurements. Several runs of one model may be open at a time.
//
//     ReplayRun run(model);
//     run.begin(plan, inputs, options);
//     run.play(plan.steps.size(), [&] { ... });     // or first up to the loss, and later to the end
//     run.outputs();
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "runtime/allocator/step_memory.h"
#include "runtime/replay/bound_model.h"
#include "runtime/replay/open_collectives.h"
#include "runtime/replay/overwrites.h"
#include "runtime/replay/random_turns.h"
#include "runtime/replay/replay_plan.h"
#include "runtime/replay/step_transfers.h"

namespace rematlas {

struct ReplayOptions {
    std::uint64_t gradient_seed = 0;  ///< seed of the gradients of the outputs, if the loss is the caller's
    bool time_ops = false;            ///< whether to fill Replayed::steps
    bool measure_ops =
        false;  ///< whether to fill the bytes in Replayed::steps too (resets the device's peak at each op)
    bool measure_peak = true;         ///< see DeviceRuntime::measures_unseen
    LinkClock* clock = nullptr;       ///< for Executor::run: a virtual clock that advances with the training
                                      ///< step; may be null
    std::function<void()> before_op;  ///< called before each op; an exception that it throws ends the run
    bool arena = false;  ///< whether to use an arena: from the second training step by the same schedule on,
                         ///< nothing is allocated from the system; results are in the arena, and valid while
                         ///< they are held
    std::int64_t most_arena_bytes = std::numeric_limits<std::int64_t>::max();  ///< see StepMemory
};

/// Time and memory of one step of the schedule.
struct StepMeasure {
    std::int64_t start = 0, end = 0;  ///< nanoseconds since the replay began
    std::int64_t workspace = 0;       ///< most bytes above those that were alive before the step
    std::int64_t alive = 0;           ///< bytes alive after the step, residents included
};

/// Thrown when a value that the program reads, or a shape that depends on values, differs from the captured
/// one.
struct CourseChanged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Says whether the exception was raised by Python code, in a kernel or in `ReplayOptions::before_op`. Such
/// an exception is rethrown unchanged, so that callers in Python see Python's own exception.
bool is_of_python(const std::exception& failure);

/// While an object of this class lives, kernels are called as they were recorded: without autograd, and
/// without autocast, because the casts of an autocast region are ops of the graph.
struct BelowAutograd {
    at::AutoDispatchBelowADInplaceOrView below;
    at::NoGradGuard no_grad;
    c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

class ReplayRun {
  public:
    explicit ReplayRun(const BoundModel& model);

    /// Begins a training step. `plan` must outlive the run. Fails if inputs or bound tensors do not fit.
    Result<void> begin(const ReplayPlan& plan, const std::vector<at::Tensor>& inputs,
                       const ReplayOptions& options);

    /// Runs the steps up to `end`, then calls `then`. After an error the run is cleared. The error has
    /// `ErrorKind::negative` if the program's course has changed. After any other error before the loss, the
    /// generator is as the original would have it at the op that failed, and so are the buffers whose new
    /// contents exist.
    template <class Work>
    Result<void> play(std::size_t end, Work&& then);
    /// Runs the steps up to `end` without catching exceptions of kernels, for steps that the device captures.
    void play_plainly(std::size_t end);

    std::size_t at() const { return at_; }  ///< index of the step that runs next
    /// Called at the step that asks for the gradients of the outputs, with those gradients that must still be
    /// filled.
    std::function<void(std::vector<at::Tensor>& made)> fill_gradients;

    /// Returns the outputs. An output that the schedule has freed is undefined; an output that the schedule
    /// leaves on the host is a tensor of the host.
    std::vector<at::Tensor> outputs() const;
    std::vector<at::Tensor> gradients() const;
    at::Tensor gradient(int place) const;
    /// Gives the buffers the contents that they have at the end of the original's forward. Leaves out buffers
    /// whose contents the schedule makes later. `before`: returns a copy of a buffer as it was before the
    /// forward. If later steps read the old contents, they read this copy, or the memory of the new contents.
    void update_buffers_of_forward(const std::function<c10::Storage(TensorId)>& before);
    /// Gives the buffers the contents that they have at the end of the step.
    void update_buffers();
    bool has_updated_buffers_of_forward() const;
    bool has_updated_buffers() const;

    /// Frees everything that the run made, and releases its inputs.
    void clear();
    /// Ends the run: clears it and closes the arena. Returns the report on the arena.
    StepMemoryReport finish();

    /// Returns the most bytes that the training step has taken so far. The bytes are measured only while
    /// steps of the schedule run.
    std::int64_t peak() const { return highest_; }
    /// Returns the most bytes that the step had on the host at a time. `slab_bytes` returns the bytes of host
    /// memory that are reserved.
    Bytes host_peak() const { return transfers_ ? transfers_->host_peak() : Bytes(); }
    std::int64_t slab_bytes() const {
        return transfers_ ? plan->transfers->transfers.slab_bytes + plan->transfers->transfers.home_bytes : 0;
    }
    std::vector<StepMeasure> take_measures();

    const BoundModel& model;
    const ReplayPlan* plan = nullptr;
    OperandTable operands;
    RandomTurns turns;
    /// Live bytes that do not belong to the step. A caller that pauses a run must set this field before the
    /// run goes on.
    std::int64_t outside = 0;

  private:
    at::Tensor result(int operand) const;
    void read_values();
    c10::Storage memory_of(TensorId buffer) const;
    void leave_as_original();
    void count_back(OpId op);
    void run_step(const Step& step);
    void run_op(OpId op, bool in_place);
    void run_collective(OpId op);
    void run_timed(const Step& step);
    void make_output_gradients(OpId op);
    void take_returns(OpId op);
    void begin_memory();
    Result<void> begin_transfers(const std::vector<at::Tensor>& inputs);

    IdVector<OpId, torch::jit::Stack> arguments_;
    std::int64_t values_version_ = 0;  ///< BoundModel::values_version of the values in `arguments_`
    IdVector<OpId, int> runs_;
    Overwrites overwrites_;
    OpenCollectives collectives_;
    torch::jit::Stack stack_;
    std::size_t at_ = 0;
    bool in_kernel_ = false;
    ReplayOptions options_;
    std::int64_t highest_ = 0;
    std::vector<StepMeasure> measures_;
    std::unique_ptr<Marks> marks_;  ///< time marks before each step of the schedule, if ops are timed
    bool are_buffers_updated_ = false;
    std::vector<TensorId> in_buffers_;  ///< for each of Tape::updates: the tensor whose contents are in the
                                        ///< buffer; not valid before the first update
    /// The caller's storages of those buffers that got their new contents although later steps read the old
    /// contents. Until the run is cleared, operands of such a buffer refer to a storage with the old
    /// contents.
    std::vector<std::pair<TensorId, c10::Storage>> moved_;
    std::unique_ptr<StepMemory> memory_;  ///< memory of runs that use an arena
    std::vector<Step> memory_steps_;      ///< steps for which `memory_` was begun
    std::int64_t memory_queue_ = 0;       ///< device queue for which `memory_` was begun
    std::uint64_t memory_key_ = 0;
    bool in_memory_ = false;
    std::unique_ptr<StepTransfers> transfers_;  ///< null unless the plan moves tensors to the host
};

template <class Work>
Result<void> ReplayRun::play(std::size_t end, Work&& then) {
    BelowAutograd below;
    const c10::DeviceGuard guard(model.device.device());
    Error error;
    try {
        if (options_.measure_peak) model.device.reset_peak();
        const StepMemory::Scope scope(in_memory_ ? memory_.get() : nullptr);
        play_plainly(end);
        then();
        if (transfers_ && at_ == plan->steps.size()) transfers_->rethrow();
        if (options_.measure_peak) highest_ = std::max(highest_, model.device.peak_bytes() - outside);
        return {};
    } catch (const CourseChanged& changed) {
        error = {changed.what(), ErrorKind::negative};
    } catch (const std::exception& failure) {
        collectives_.settle();
        leave_as_original();
        if (is_of_python(failure)) {
            clear();
            throw;
        }
        const bool in_op = at_ < end && plan->steps[at_].runs();
        error = {"step " + std::to_string(at_) + ": " +
                     (in_op ? model.label(plan->steps[at_].op()) + ": " : "") + one_line(failure),
                 ErrorKind::failure, std::current_exception()};
    }
    clear();
    return error;
}

}  // namespace rematlas
