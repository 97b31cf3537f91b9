// Records a step of the caller's own training while it runs: forward and backward, but not the caller's
// loss.
//
//     const auto kind = StepRecording::Kind::real;
//     auto recording = std::make_shared<StepRecording>(tensors, inputs, device, kind);
//     recording->begin();
//     ... the module's forward ...
//     recording->end(outputs);      // the caller goes on with the same outputs; their backward is recorded
//     ... loss, backward ...
//     recording->state();           // recorded, or refused for a reason; the training is the same
//
// Threads: forward on one thread; autograd may run the backward on another.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/capture/recorder.h"
#include "runtime/device/device.h"
#include "runtime/device/other_threads.h"
#include "runtime/shapes/shape_kernels.h"
#include "runtime/training/cut_forward.h"
#include "runtime/training/gradient_marks.h"
#include "runtime/training/python_places.h"
#include "runtime/training/shared_outputs.h"
#include "runtime/training/within_eviction.h"

namespace rematlas {

/// The memory of the caller's loss, which a step takes in addition to the memory of its ops.
struct LossMemory {
    std::int64_t most = 0;  ///< most bytes alive between forward and backward, minus the bytes at the end of
                            ///< the forward
    std::int64_t kept = 0;  ///< bytes alive when the backward begins, minus the bytes at the end of the
                            ///< forward; includes the gradients of outputs
};

class StepRecording : public std::enable_shared_from_this<StepRecording> {
  public:
    /// `dropped`: nobody can call the step's backward any more, or another step was recorded at the same
    /// time. `disturbed`: another thread took part in the recorded events; see `other_thread`.
    enum class State { open, recorded, refused, dropped, disturbed };

    /// `real_with_audit`: see RecorderOptions::audit. `from_shapes`: the step is not real, but runs on shape
    /// tensors, because it does not fit in memory. Then `tensors` are shape tensors of a copy of the module,
    /// and the inputs are real. The forward throws if it needs values that do not exist. `run_backward` runs
    /// the backward. The step advances the generator, and the caller must reset it.
    enum class Kind { real, real_with_audit, from_shapes };

    /// `tensors`: parameters and buffers under all their names.
    StepRecording(const std::vector<NamedTensor>& tensors, const std::vector<at::Tensor>& inputs,
                  DeviceRuntime& device, Kind kind);

    /// Begins the recording. Returns the tensors that the forward must be given as inputs.
    std::vector<at::Tensor> begin();
    /// Must be called after the forward. `outputs`: all tensors that the forward returns. If the step has
    /// been refused by then, the caller's graph runs the backward as if nothing were recorded.
    void end(const std::vector<at::Tensor>& outputs);
    /// Runs the backward of a step from shapes. `used` says, by position, which outputs get a gradient; if it
    /// is empty, all outputs do. The gradients have the layout of the outputs.
    void run_backward(const std::vector<bool>& used);
    /// Must be called if the forward has thrown, or has returned something that cannot be passed on.
    void abandon();
    void refuse(const std::string& why) { recorder_.refuse_step(why); }

    State state() const;
    const std::optional<std::string>& refusal() const { return recorder_.refusal(); }
    const OutsideTensors& outside() const { return recorder_.outside(); }
    /// Says whether online eviction began or ended between forward and backward. If so, the step is refused.
    bool eviction_changed() const { return eviction_changed_; }
    /// Says whether the backward of the step ran out of memory.
    bool out_of_memory() const { return out_of_memory_; }
    /// May only be called after the step; see Recorder::survivors. Frees what the module's own graph has
    /// saved for outputs that got no gradient.
    std::vector<std::string> survivors() {
        cut_.free_rest();
        return recorder_.survivors();
    }

    /// See Recorder::groups.
    const std::vector<std::string>& groups() const { return recorder_.groups(); }

    /// Returns an op that another thread ran during the step, if the step is disturbed.
    const std::string& other_thread() const { return other_thread_; }

    // The functions down to `sums_gradients` are for a recorded step.
    const Recording& recording() const { return recording_; }
    const LossMemory& loss() const { return loss_; }
    /// For a step from shapes, which runs no loss: sets the memory that the loss takes, as measured in a real
    /// step.
    void expect_loss(const LossMemory& loss) { loss_ = loss; }
    /// Returns the settings that the step ran under; absent for a step from shapes.
    const std::optional<KernelSettings>& settings() const { return settings_; }
    /// Returns the bytes that were alive when the step began and do not belong to the step.
    std::int64_t beside() const { return beside_; }
    /// Returns the bytes that the forward keeps for the backward, including the outputs.
    std::int64_t held() const { return alive_after_forward_ - beside_ - counted_; }
    /// Returns, for each output, the index of the input that the forward returned as this output; -1 if the
    /// output is not an input.
    const std::vector<int>& passed_inputs() const { return passed_inputs_; }

    /// Returns the positions of the outputs that have a history but got no gradient from the loss.
    const std::vector<int>& unused_outputs() const { return unused_outputs_; }
    /// Says for each output, in order, whether the loss gave it a gradient.
    std::vector<bool> used_outputs() const;
    /// Says whether some parameter is used more than once; if so, its gradient is a sum within the step.
    bool sums_gradients() const { return sums_gradients_; }
    /// Says whether the values of the tensor depend on parameters, inputs or random numbers.
    bool depends_on_data(const at::Tensor& tensor) const { return recorder_.depends_on_data(tensor); }

    /// Gives up the recording: from now on the caller's graph runs the step's backward. May only
    /// be called before the step's backward begins.
    void uncut(const std::string& why);

    PythonPlaces places;

  private:
    CutForward::Gradients backward_again(const torch::autograd::variable_list& gradients, bool keep_graph,
                                         bool create_graph);
    CutForward::Gradients record_backward(torch::autograd::variable_list&& gradients, bool keep_graph,
                                          bool create_graph);
    void refuse_effects_of_forward();
    void refuse_random_hooks();
    void measure_loss();
    std::vector<at::Tensor> trained() const;
    std::unique_ptr<DispatchModeGuard> in_force();
    void watch_no_more();
    /// Refuses the step if online eviction has begun, ended or been replaced by another one since the step
    /// began.
    void check_eviction();

    DeviceRuntime& device_;
    std::shared_ptr<OtherThreads> others_;  ///< watches other threads while the step runs
    std::string other_thread_;
    MemoryWithoutEviction memory_;
    std::vector<NamedTensor> tensors_;
    std::vector<at::Tensor> inputs_, given_;  ///< the caller's inputs; the inputs that the forward was given
    std::vector<std::uint32_t> input_versions_;
    std::vector<bool> inputs_needed_;  ///< per input: whether it required a gradient when the step began
    std::optional<ShapeKernels> shapes_;
    Recorder recorder_;
    std::unique_ptr<DispatchModeGuard> guard_;
    CutForward cut_;
    std::vector<NamedTensor> trained_;         ///< parameters that require a gradient, each once
    GradientMarks gradients_before_;           ///< gradients of `trained_` when the step began
    std::vector<at::Tensor> gradient_shapes_;  ///< in a step from shapes: one gradient for each of
                                               ///< `cut_places_`
    std::vector<int> cut_places_;              ///< positions of the outputs at which the graph was cut
    std::vector<int> passed_inputs_;
    WrittenInPlace shared_outputs_;
    Recording recording_;
    LossMemory loss_;
    std::int64_t beside_ = 0, counted_ = 0, alive_after_forward_ = 0;
    LooseBlocks blocks_after_forward_;
    std::vector<int> unused_outputs_;
    std::optional<KernelSettings> settings_;
    bool sums_gradients_ = false, done_ = false;
    bool unrecorded_ = false;  ///< whether this step is not recorded, because another step is being recorded
    bool out_of_memory_ = false;
    bool eviction_changed_ = false;
};

/// Returns the parameters among `tensors` that require a gradient, each once.
std::vector<NamedTensor> trained_of(const std::vector<NamedTensor>& tensors);

/// Returns the bytes that the step's own residents add to the count of `device`. Each storage counts once:
/// the whole storage if a bound tensor uses it, else the part that inputs use (see InputPart).
std::int64_t counted_residents(const std::vector<NamedTensor>& tensors, const std::vector<at::Tensor>& inputs,
                               const DeviceRuntime& device);

}  // namespace rematlas
