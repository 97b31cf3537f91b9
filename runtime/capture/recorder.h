// Records one training step as a flat list of ops on values, below autograd.
//
//     Recorder recorder(model.tensors, inputs, specs, places, device);
//     {
//         DispatchModeGuard guard(recorder);
//         result = training_step(model, inputs, loss, seed, recorder.observer());
//     }
//     recorder.note_outputs(result.outputs);
//     Recording recording = recorder.finish(gradients);
//
// A value is a storage at a version: views become part of the geometry of operands, and an in-place op makes
// a new version from the old one. A tensor is a constant if no op made it and it is neither parameter, buffer
// nor input. If an op cannot be replayed exactly, the step is refused; the refusal names the op, the module
// path and the source line.
#pragma once

#include <c10/core/StorageImpl.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/capture/outside_tensors.h"
#include "runtime/capture/recording.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/mode.h"
#include "runtime/dispatch/yielding_mutex.h"
#include "runtime/model/named_tensor.h"
#include "runtime/model/places.h"
#include "runtime/model/training_step.h"

namespace rematlas {

struct RecorderOptions {
    bool audit = true;  ///< digest every input of an op before and after the op, to find undeclared writes
    /// If set, this function is called for each op instead of the device's kernel. It runs the op, or returns
    /// the reason why it cannot; see ShapeKernels.
    std::function<std::optional<std::string>(const c10::OperatorHandle&, c10::DispatchKeySet,
                                             torch::jit::Stack*)>
        run_kernel = {};
    std::function<void(int)> on_op = {};  ///< called with the number of ops so far
    /// Whether the step belongs to the caller's own training. If so, a refusal is noted and the step goes on
    /// unrecorded. Values that the program reads become guards. The step may write only to its own tensors,
    /// parameters and buffers. A tensor that a checkpoint recomputes is the same value as the tensor that was
    /// computed first. Ops are measured. With `run_kernel`, the step only imitates a step of the training: a
    /// refusal throws, and each random op moves the generator, whose state the caller must restore.
    bool in_process = false;
    /// Measures the memory of ops; null if the device measures it.
    MemoryMeter* memory = nullptr;
    /// Says whether other threads have run ops during the step. If so, the step goes on even if the generator
    /// moves between the step's random ops; see Recorder::generator_was_moved.
    std::function<bool()> others_run = {};
};

class Recorder final : public DispatchMode {
  public:
    /// `places` and `device` must outlive the recorder. All inputs in one storage are one value.
    Recorder(const std::vector<NamedTensor>& tensors, const std::vector<at::Tensor>& inputs,
             const std::vector<InputSpec>& specs, Places& places, DeviceRuntime& device,
             RecorderOptions options = {});

    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) override;
    void is_traced(const c10::OperatorHandle& op) override;

    /// The observer to pass to training_step.
    StepObserver observer();
    /// `outputs`: the tensors that the step returns. After this call the recorder no longer needs them to be
    /// held.
    void note_outputs(const std::vector<at::Tensor>& outputs);
    /// Must be called when the backward begins, unless `observer` reports it. `outputs`: indices of the
    /// outputs that were given a gradient.
    void begin_backward(const std::vector<int>& outputs, const std::vector<at::Tensor>& gradients);
    /// Must be called after the forward. Notes the casts of weights that are still alive: autocast holds a
    /// cast until its region ends, but the graph counts a cast only until its last use.
    void note_casts();
    /// Returns the bytes of the noted casts that have been freed since.
    std::int64_t casts_gone() const;
    /// Returns the bytes of the outputs that nobody held any more when the backward began.
    std::int64_t released_bytes() const;

    /// Returns the line that says why the step cannot be captured.
    const std::optional<std::string>& refusal() const { return refusal_; }
    const OutsideTensors& outside() const { return outside_; }
    /// Notes why the step cannot be captured, unless a reason has been noted already. Called for reasons that
    /// are found outside the recorder.
    void refuse_step(const std::string& why);

    /// Says whether the values of the tensor are known to depend on parameters, inputs or random numbers.
    bool depends_on_data(const at::Tensor& tensor) const;

    /// Must be called after the forward of a step with `in_process`. Refuses the step if the state of the
    /// generator is not the one that the last random op left.
    void check_generator();
    /// Returns true if the program or another thread has moved the generator.
    bool generator_was_moved() const { return generator_was_moved_; }
    /// Says whether the step has drawn random numbers.
    bool draws() const { return draws_; }

    /// Ends the recording; the outputs must have been noted. With `in_process`, a gradient gets an op that
    /// copies it if it is also an output or another gradient, or if no op of the step has made it. With
    /// `in_process`, this call may also refuse the step; the recording is then empty.
    Recording finish(const std::vector<GradientMade>& gradients);

    /// Returns the names of the process groups whose collectives the step has run so far, also after a
    /// refusal, in the order of their first use.
    const std::vector<std::string>& groups() const { return groups_; }

    /// Returns the op and the module of each tensor that the step made and that is still alive, except
    /// outputs and gradients.
    std::vector<std::string> survivors() const;

  private:
    struct Place {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage;  ///< keeps the address from being reused
        int value;
        std::int64_t base = 0;   ///< byte of the storage where the value begins
        std::int64_t bytes = 0;  ///< bytes of the value
    };
    struct Use {
        std::size_t argument;
        at::Tensor tensor;
        int value;
        bool written;
        std::size_t bytes;
        std::uint64_t digest;
    };
    struct Origin {
        int op;
        std::string module, line;
    };

    struct Refused {};  ///< thrown only within the recorder
    /// A call while it is recorded, from before its kernel until after it.
    struct Call {
        RecordedOp record;
        std::vector<Use> uses;
        std::unique_ptr<GeneratorState> generator;
        std::string computes;      ///< for a forward op: a text that describes the computation, by which the
                                   ///< op is recognized when a checkpoint reruns it
        std::optional<int> again;  ///< the recorded op that this call recomputes
    };

    void before_kernel(const c10::OperatorHandle& op, const torch::jit::Stack& stack, Call& call);
    void after_kernel(const c10::OperatorHandle& op, const torch::jit::Stack& stack, Call& call);
    void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void name_group(RecordedOp& record);
    void note_group(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
    void wait(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void run_measured(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack,
                      RecordedOp& record);
    void recognize(Call& call);
    bool fills_empty(const Call& call, std::size_t argument) const;
    std::string shape_text(int operand) const;
    void note_outputs_held();
    bool take_earlier_values(const torch::jit::Stack& stack, std::size_t returns, const Call& call);
    void follow_generator(const Call& call);
    bool is_moved(std::uint64_t now);
    void poison(const at::Tensor& tensor);
    void refuse_foreign_writes(const RecordedOp& record, const std::vector<Use>& uses);
    void refuse_foreign_geometry(const RecordedOp& record, const Use& changed);
    const Place* place_of(const at::Tensor& tensor) const;
    void observe(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void take_casts(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
    void take_cast(const at::Tensor& cast, const at::Tensor& parameter);
    bool may_be_cached_cast(const RecordedValue& value) const;
    std::vector<Place> casts_;  ///< see note_casts
    std::uint64_t digest(const at::Tensor& tensor) const;
    void add_inputs(const std::vector<at::Tensor>& inputs, const std::vector<InputSpec>& specs);
    int copied(int operand);

    bool is_known(const at::Tensor& tensor) const;
    int value_of(const at::Tensor& tensor);
    int new_value(const at::Tensor& tensor, RecordedValue value);
    int resident(const at::Tensor& tensor, TensorKind kind, const std::string& name);
    int operand_of(const at::Tensor& tensor);
    int operand_of(const at::Tensor& tensor, int value);
    void snapshot(int value, const at::Tensor& tensor);

    std::vector<Use> uses_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                             RecordedOp& record);
    void settle_uninitialized(const RecordedOp& record, const std::vector<Use>& uses);
    void refuse_unreplayable(const c10::OperatorHandle& op, RecordedOp& record, const std::vector<Use>& uses);
    bool depends_on_data(const std::vector<Use>& uses) const;
    bool may_be_guarded(const c10::OperatorHandle& op, const RecordedOp& record) const;
    Argument argument_of(const c10::IValue& value, bool shape_only);
    void audit(const RecordedOp& record, const std::vector<Use>& uses);
    void refuse_shared_memory(const RecordedOp& record, const std::vector<Use>& uses, const at::Tensor& made);
    bool note_results(const torch::jit::Stack& stack, std::size_t returns, const std::vector<Use>& uses,
                      RecordedOp& record);
    void attribute(RecordedOp& record, bool vanished);
    Origin origin() const;
    void note_gradients_given(std::vector<int> outputs, const std::vector<at::Tensor>& gradients);
    std::string refusal_at(const std::string& op, const std::string& why) const;
    [[noreturn]] void refuse(const std::string& op, const std::string& why);

    DeviceRuntime& device_;
    RecorderOptions options_;
    MemoryMeter& memory_;
    Places& source_;
    std::vector<std::pair<std::string, at::Tensor>> named_;
    Recording recording_;
    std::unordered_map<const c10::StorageImpl*, Place> places_;
    std::map<std::string, int> operand_index_;
    std::map<std::uint64_t, Origin>
        by_sequence_;  ///< forward ops by autograd's sequence numbers; includes views, although they
                       ///< are not recorded
    std::string last_backward_module_;
    std::unordered_map<std::string, int> computed_;    ///< forward ops by the text that describes their
                                                       ///< computation
    std::unordered_map<int, std::uint64_t> poisoned_;  ///< digests of the values that `poison` has filled
    std::vector<std::string> groups_;                  ///< see groups
    OutsideTensors outside_;                           ///< the tensors of `foreign_`
    std::set<int> foreign_;                            ///< constants that no op of the step has made
    std::set<const c10::TensorImpl*> given_;           ///< parameters, buffers and inputs
    std::optional<std::uint64_t> generator_;           ///< digest of the generator's state after the last
                                                       ///< random op
    bool generator_was_moved_ = false, draws_ = false;
    Phase phase_ = Phase::forward;
    std::optional<std::string> refusal_;
    YieldingMutex<std::mutex> mutex_;  ///< autograd can run the backward of a device on a separate thread
};

}  // namespace rematlas
