// A forward that waits for its backward.
#pragma once

#include <c10/core/TensorImpl.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/replay/replay_run.h"

namespace rematlas {

/// Where the generator and the tensors that the step writes to stood at one moment.
class Snapshot {
  public:
    enum class Of { all_written, what_ops_read };
    Snapshot(const BoundModel& model, Of of);
    void restore() const;
    void restore_tensors() const;
    void restore_generator() const { model_.device.set_generator_state(*generator_); }
    bool equals_generator(const Snapshot& other) const { return generator_->equals(*other.generator_); }
    /// The first tensor that differs, by name; empty when none does. Both are of the same kind.
    std::string different_tensor(const Snapshot& other) const;

  private:
    const BoundModel& model_;
    std::unique_ptr<GeneratorState> generator_;
    std::vector<std::pair<std::size_t, c10::Storage>> written_;  ///< by place in BoundModel::bound
};

class OpenForward {
  public:
    OpenForward(std::unique_ptr<ReplayRun> run, std::shared_ptr<const ReplayPlan> plan)
        : run_(std::move(run)), plan_(std::move(plan)) {}

    /// The first half. Where the course has changed, generator and buffers are restored.
    Result<std::vector<at::Tensor>> forward(const std::vector<at::Tensor>& inputs,
                                            const ReplayOptions& options);

    /// The next part of the second half; the first one takes the gradients of the outputs.
    Result<std::vector<std::pair<int, at::Tensor>>> next_part(std::vector<at::Tensor> output_gradients);
    bool done() const { return part_ == plan_->parts.size(); }

    /// Generator and buffers as before this forward, for a rerun by the original.
    void rewind();
    /// After the rerun: as they were when it began, but that buffers which this forward would have moved on
    /// in its backward stay as the rerun has left them.
    void restore();

    ReplayRun& run() { return *run_; }
    const ReplayPlan& plan() const { return *plan_; }
    /// Gives the run up, for another forward.
    std::unique_ptr<ReplayRun> release() { return std::move(run_); }

  private:
    /// Something of the caller's that must not be written to between the halves of a step.
    struct Watched {
        c10::VariableVersion version;  ///< alone: the tensor of an output leads back here through its history
        std::uint32_t seen;
        std::string what;
    };

    void watch(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs);
    Result<void> check_watched() const;
    std::int64_t take_given(std::vector<at::Tensor> gradients);

    std::unique_ptr<ReplayRun> run_;
    std::shared_ptr<const ReplayPlan> plan_;
    std::vector<Watched> watched_;
    std::vector<at::Tensor> given_;  ///< gradients of outputs that have to be copied
    std::size_t part_ = 0;
    std::int64_t held_ = 0;  ///< bytes of the step's while it is paused
    std::unique_ptr<Snapshot> before_, now_;
};

/// The gradients of the outputs, in the order of the op that asks for them, are defined and lie as they did
/// when the step was captured.
Result<void> check_output_gradients(const BoundModel& model, const std::vector<at::Tensor>& gradients);

}  // namespace rematlas
