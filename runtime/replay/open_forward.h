// A forward whose backward has not run yet.
#pragma once

#include <c10/core/TensorImpl.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/replay/replay_run.h"

namespace rematlas {

/// The state of the generator and of the tensors that the step writes to, at one moment.
class Snapshot {
  public:
    enum class Of { all_written, what_ops_read };
    Snapshot(const BoundModel& model, Of of);
    void restore() const;
    void restore_tensors() const;
    void restore_generator() const { model_.device.set_generator_state(*generator_); }
    bool equals_generator(const Snapshot& other) const { return generator_->equals(*other.generator_); }
    /// Returns the copy of the tensor; null if there is none.
    c10::Storage contents_of(TensorId tensor) const;
    /// Returns the name of the first tensor that differs between the snapshots; empty if none differs. Both
    /// snapshots must have been made with the same `Of`.
    std::string different_tensor(const Snapshot& other) const;

  private:
    const BoundModel& model_;
    std::unique_ptr<GeneratorState> generator_;
    std::vector<std::pair<std::size_t, c10::Storage>> written_;  ///< copies of the tensors, with their
                                                                 ///< positions in BoundModel::bound
};

class OpenForward {
  public:
    OpenForward(std::unique_ptr<ReplayRun> run, std::shared_ptr<const ReplayPlan> plan)
        : run_(std::move(run)), plan_(std::move(plan)) {}

    /// Runs the steps before the loss. If the program's course has changed, restores generator and buffers.
    Result<std::vector<at::Tensor>> forward(const std::vector<at::Tensor>& inputs,
                                            const ReplayOptions& options);

    /// Runs the next part of the backward. Only the first call reads `output_gradients`.
    Result<std::vector<std::pair<int, at::Tensor>>> next_part(std::vector<at::Tensor> output_gradients);
    bool done() const { return part_ == plan_->parts.size(); }

    /// Sets generator and buffers back to their state before this forward, so that the original can run it
    /// again.
    void rewind();
    /// Must be called after the original's run. Sets generator and buffers to their state before `rewind`.
    /// Buffers that this forward would have updated only in its backward stay as the original's run has left
    /// them.
    void restore();

    ReplayRun& run() { return *run_; }
    const ReplayPlan& plan() const { return *plan_; }
    /// Returns the run, so that another forward can use it.
    std::unique_ptr<ReplayRun> release() { return std::move(run_); }

  private:
    /// A tensor of the caller that must not be written to between forward and backward.
    struct Watched {
        c10::VariableVersion version;  ///< version counter of the tensor, without the tensor itself: the
                                       ///< history of an output holds this object, so holding the output
                                       ///< here would make a cycle
        std::uint32_t seen;
        std::string what;
    };

    void watch(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs);
    Result<void> check_watched() const;
    std::int64_t take_given(std::vector<at::Tensor> gradients);

    std::unique_ptr<ReplayRun> run_;
    std::shared_ptr<const ReplayPlan> plan_;
    std::vector<Watched> watched_;
    std::vector<at::Tensor> given_;  ///< the caller's gradients that cannot be used in place and are copied
    std::size_t part_ = 0;
    std::int64_t held_ = 0;  ///< bytes that the step holds while it is paused
    std::unique_ptr<Snapshot> before_, now_;
};

/// Checks that the gradients of the outputs are defined and have the same layout as when the step was
/// captured. `gradients` are in the order in which the op `output_gradients_op` makes them.
Result<void> check_output_gradients(const BoundModel& model, const std::vector<at::Tensor>& gradients);

}  // namespace rematlas
