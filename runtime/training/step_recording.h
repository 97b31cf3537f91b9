// Records a step of the caller's own training while it runs: forward, the caller's loss unseen, backward.
//
//     auto recording = std::make_shared<StepRecording>(tensors, inputs, device);
//     recording->begin();
//     ... the module's forward ...
//     recording->end(outputs);      // the caller goes on with the same outputs; their backward is recorded
//     ... loss, backward ...
//     recording->state()            // recorded, or refused with a reason; the step trained as it would have
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
#include "runtime/training/python_places.h"
#include "runtime/training/shared_outputs.h"
#include "runtime/training/within_eviction.h"

namespace rematlas {

/// What a step takes beside its ops: the caller's loss.
struct LossMemory {
    std::int64_t most = 0;  ///< most bytes alive between the halves beyond those at the end of the forward
    std::int64_t kept = 0;  ///< bytes more when the backward begins, gradients of outputs included
};

class StepRecording : public std::enable_shared_from_this<StepRecording> {
  public:
    /// `dropped`: nobody can call its backward any more, or another step was recorded at the same time.
    /// `disturbed`: another thread took part in what the recording tells; see `other_thread`.
    enum class State { open, recorded, refused, dropped, disturbed };

    /// `with_audit`: see RecorderOptions. `from_shapes`: no real step but one on shape tensors (`tensors` are
    /// such, of a copy of the module; inputs are real), for a step that does not fit. Its forward throws
    /// where it needs values that nobody has; its backward is `run_backward`; it moves the generator, which
    /// the caller puts back.
    enum class Kind { real, real_with_audit, from_shapes };

    /// `tensors`: parameters and buffers under all their names.
    StepRecording(const std::vector<NamedTensor>& tensors, const std::vector<at::Tensor>& inputs,
                  DeviceRuntime& device, Kind kind);

    /// Returns what the forward is to be given as inputs.
    std::vector<at::Tensor> begin();
    /// `outputs`: all tensors that the forward returns. A step that is refused by now is left as it is: its
    /// backward is the caller's graph's own.
    void end(const std::vector<at::Tensor>& outputs);
    /// Of a step from shapes: with gradients, lying as the outputs do, of those outputs alone that `used`
    /// says, by place; of all when it is empty.
    void run_backward(const std::vector<bool>& used);
    /// The forward has thrown, or what it returns cannot be handed out.
    void abandon();
    void refuse(const std::string& why) { recorder_.refuse_step(why); }

    State state() const;
    const std::optional<std::string>& refusal() const { return recorder_.refusal(); }
    /// Online eviction began or ended between the halves of the step, which is refused then.
    bool eviction_changed() const { return eviction_changed_; }
    /// The backward of the step did not fit.
    bool out_of_memory() const { return out_of_memory_; }
    /// After the step; see Recorder::survivors.
    std::vector<std::string> survivors() const { return recorder_.survivors(); }

    /// Of a disturbed step: an op that another thread ran meanwhile.
    const std::string& other_thread() const { return other_thread_; }

    // Of a recorded step.
    const Recording& recording() const { return recording_; }
    const LossMemory& loss() const { return loss_; }
    /// Of a step from shapes, which has no loss: what that of a real step takes.
    void expect_loss(const LossMemory& loss) { loss_ = loss; }
    /// That it ran under; none of a step from shapes.
    const std::optional<KernelSettings>& settings() const { return settings_; }
    /// Bytes alive at its beginning that are none of the step's.
    std::int64_t beside() const { return beside_; }
    /// Bytes that its forward keeps for its backward, the outputs among them.
    std::int64_t held() const { return alive_after_forward_ - beside_ - counted_; }
    const std::vector<NamedTensor>& tensors() const { return tensors_; }
    /// Per output: the input that it is, -1 for others.
    const std::vector<int>& passed_inputs() const { return passed_inputs_; }

    /// Outputs with a history that the loss gave no gradient to, by place.
    const std::vector<int>& unused_outputs() const { return unused_outputs_; }
    /// Per output, in order: whether the loss gave it a gradient.
    std::vector<bool> used_outputs() const;
    /// Some parameter is used more than once, so that its gradient is a sum within the step.
    bool sums_gradients() const { return sums_gradients_; }
    /// Whether what is in the tensor depends on parameters, inputs or random numbers.
    bool depends_on_data(const at::Tensor& tensor) const { return recorder_.depends_on_data(tensor); }

    /// Gives the step up: from now on its backward is the caller's graph's own, as without us. For a step
    /// whose backward has not begun.
    void uncut(const std::string& why);

    PythonPlaces places;

  private:
    CutForward::Gradients record_backward(torch::autograd::variable_list&& gradients, bool keep_graph,
                                          bool create_graph);
    void measure_loss();
    std::vector<at::Tensor> trained() const;
    std::unique_ptr<DispatchModeGuard> in_force();
    void watch_no_more();
    /// Refuses a step around which another eviction is in force than when it began.
    void check_eviction();

    DeviceRuntime& device_;
    std::shared_ptr<OtherThreads> others_;  ///< while the step runs
    std::string other_thread_;
    MemoryWithoutEviction memory_;
    std::vector<NamedTensor> tensors_;
    std::vector<at::Tensor> inputs_, given_;  ///< the caller's, and as the forward was given them
    std::vector<std::uint32_t> input_versions_;
    std::optional<ShapeKernels> shapes_;
    Recorder recorder_;
    std::unique_ptr<DispatchModeGuard> guard_;
    CutForward cut_;
    std::vector<NamedTensor> trained_;         ///< each once
    std::vector<at::Tensor> gradient_shapes_;  ///< from shapes: per place of `cut_places_`
    std::vector<int> cut_places_;              ///< outputs whose backward is the module's
    std::vector<int> passed_inputs_;
    WrittenInPlace shared_outputs_;
    Recording recording_;
    LossMemory loss_;
    std::int64_t beside_ = 0, counted_ = 0, alive_after_forward_ = 0;
    LooseBlocks blocks_after_forward_;
    std::vector<int> unused_outputs_;
    std::optional<KernelSettings> settings_;
    bool sums_gradients_ = false, done_ = false;
    bool unrecorded_ = false;  ///< another step was recorded, or compared
    bool out_of_memory_ = false;
    bool eviction_changed_ = false;
};

/// The parameters among `tensors` that require a gradient, each once.
std::vector<NamedTensor> trained_of(const std::vector<NamedTensor>& tensors);

/// Returns the bytes that the step's own residents add to what `device` counts. Each storage counts once: as
/// a whole where a bound tensor lies in it, else the part that inputs take (see InputPart).
std::int64_t counted_residents(const std::vector<NamedTensor>& tensors, const std::vector<at::Tensor>& inputs,
                               const DeviceRuntime& device);

}  // namespace rematlas
