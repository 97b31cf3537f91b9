// One run of a step: the tensors that are there, the generator's turns, and what was measured. Several runs
// of one model can be open at a time.
//
//     ReplayRun run(model);
//     run.begin(plan, inputs, options);
//     run.play(plan.steps.size(), [&] { ... });     // or up to the loss, and on from there later
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
#include "runtime/replay/overwrites.h"
#include "runtime/replay/random_turns.h"
#include "runtime/replay/replay_plan.h"
#include "runtime/replay/step_transfers.h"

namespace rematlas {

struct ReplayOptions {
    std::uint64_t gradient_seed = 0;  ///< of the gradients of the outputs, where the loss is the caller's
    bool time_ops = false;            ///< fill Replayed::steps
    bool measure_ops =
        false;  ///< fill the bytes in Replayed::steps as well (resets the device's peak at each op)
    bool measure_peak = true;         ///< see DeviceRuntime::measures_unseen
    LinkClock* clock = nullptr;       ///< of a whole step: virtual time goes on with it
    std::function<void()> before_op;  ///< what it throws ends the run
    bool arena = false;  ///< the second step of a schedule and later ones allocate nothing from the system;
                         ///< results live in the arena, and are safe as long as they are held
    std::int64_t most_arena_bytes = std::numeric_limits<std::int64_t>::max();  ///< see StepMemory
};

/// What one step of the schedule took.
struct StepMeasure {
    std::int64_t start = 0, end = 0;  ///< nanoseconds since the replay began
    std::int64_t workspace = 0;       ///< most bytes beyond what was alive before and what the op made
    std::int64_t alive = 0;           ///< bytes alive after it, residents included
};

/// A value that the program reads is not what it was when the step was captured.
struct CourseChanged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What Python code of a kernel or of `ReplayOptions::before_op` has raised. It travels on as it is: whoever called from Python
/// sees Python's own exception.
bool is_of_python(const std::exception& failure);

/// Kernels are called as they were recorded: the casts of an autocast region are ops of the graph.
struct BelowAutograd {
    at::AutoDispatchBelowADInplaceOrView below;
    at::NoGradGuard no_grad;
    c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

class ReplayRun {
  public:
    explicit ReplayRun(const BoundModel& model);

    /// `plan` must outlive the run. Errors: inputs or bound tensors that do not fit.
    Result<void> begin(const ReplayPlan& plan, const std::vector<at::Tensor>& inputs,
                       const ReplayOptions& options);

    /// Runs the steps up to `end`, then `then`. After an error the run is cleared; one of the kind `negative`
    /// says that the program's course has changed. An error in the first half leaves the generator, and the buffers whose
    /// new contents are there, where the original would have them at that op.
    template <class Work>
    Result<void> play(std::size_t end, Work&& then);
    /// The same without catching what a kernel throws, for steps that the device captures.
    void play_plainly(std::size_t end);

    std::size_t at() const { return at_; }  ///< the step that runs next
    /// Called at the step that asks for the gradients of the outputs, for those that are not there yet.
    std::function<void(std::vector<at::Tensor>& made)> fill_gradients;

    /// Undefined where the schedule has freed one; on the host where the schedule leaves it there.
    std::vector<at::Tensor> outputs() const;
    std::vector<at::Tensor> gradients() const;
    at::Tensor gradient(int place) const;
    /// The buffers get their new contents. Where steps to come read the old ones, the two change places.
    void update_buffers();
    bool can_update_buffers() const;
    bool has_updated_buffers() const { return buffers_updated_; }

    /// Lets go of all that the run made or was fed.
    void clear();
    /// The run has ended: lets go of everything and closes its arena. Returns the report of that.
    StepMemoryReport finish();

    /// The most bytes that the step took so far. Measured while steps run, not between.
    std::int64_t peak() const { return highest_; }
    /// Bytes on the host since the step began, and what is set aside for them.
    Bytes host_peak() const { return transfers_ ? transfers_->host_peak() : Bytes(); }
    std::int64_t slab_bytes() const {
        return transfers_ ? plan->transfers->transfers.slab_bytes + plan->transfers->transfers.home_bytes : 0;
    }
    std::vector<StepMeasure> take_measures();

    const BoundModel& model;
    const ReplayPlan* plan = nullptr;
    OperandTable operands;
    RandomTurns turns;
    /// Bytes alive that are none of the step's. Whoever pauses a run sets it before the run goes on.
    std::int64_t outside = 0;

  private:
    at::Tensor result(int operand) const;
    void read_values();
    void leave_as_original();
    void count_back(OpId op);
    void run_step(const Step& step);
    void run_op(OpId op, bool in_place);
    void run_timed(const Step& step);
    void make_output_gradients(OpId op);
    void take_returns(OpId op);
    void begin_memory();
    Result<void> begin_transfers(const std::vector<at::Tensor>& inputs);

    IdVector<OpId, torch::jit::Stack> arguments_;
    std::int64_t values_version_ = 0;  ///< of the model, that the arguments are of
    IdVector<OpId, int> runs_;
    Overwrites overwrites_;
    torch::jit::Stack stack_;
    std::size_t at_ = 0;
    bool in_kernel_ = false;
    ReplayOptions options_;
    std::int64_t highest_ = 0;
    std::vector<StepMeasure> measures_;
    std::unique_ptr<Marks> marks_;  ///< before each step, when ops are timed
    bool buffers_updated_ = false;
    std::vector<std::pair<TensorId, c10::Storage>> moved_;  ///< the caller's storages of buffers whose old
                                                            ///< contents lie elsewhere
    std::unique_ptr<StepMemory> memory_;                    ///< of runs in an arena
    std::vector<Step> memory_steps_;                        ///< it was begun for these
    std::int64_t memory_queue_ = 0;                         ///< and for this queue of the device
    std::uint64_t memory_key_ = 0;
    bool in_memory_ = false;
    std::unique_ptr<StepTransfers> transfers_;  ///< of a plan that moves tensors to the host
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
