// Records one training step as a flat list of ops on values, from below autograd.
//
//     Recorder recorder(model, inputs, specs, device);
//     {
//         DispatchModeGuard guard(recorder);
//         result = training_step(model, inputs, loss, seed, recorder.observer());
//     }
//     Recording recording = recorder.finish(model, result);
//
// A value is a storage at a version: views vanish into the geometry of operands, an in-place op turns one
// version into the next. Tensors that no op made and that are neither parameters, buffers nor inputs are
// constants. What cannot be replayed exactly is refused with the op, the module path and the source line.
#pragma once

#include <c10/core/StorageImpl.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/capture/provenance.h"
#include "runtime/capture/recording.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/mode.h"
#include "runtime/model/training_step.h"

namespace rematlas {

struct RecorderOptions {
    bool audit = true;  ///< digest every input of every op before and after it, to find undeclared writes
    /// Stands in for the kernels of the device, and says why when it cannot; see ShapeKernels.
    std::function<std::optional<std::string>(const c10::OperatorHandle&, c10::DispatchKeySet,
                                             torch::jit::Stack*)>
        run_kernel = {};
    std::function<void(int)> on_op = {};  ///< called with the count of ops so far
};

class Recorder final : public DispatchMode {
  public:
    Recorder(const Model& model, const std::vector<at::Tensor>& inputs, const std::vector<InputSpec>& specs,
             DeviceRuntime& device, RecorderOptions options = {});

    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) override;

    /// For training_step.
    StepObserver observer();

    /// The line that says why the step cannot be captured; an exception ended the step then.
    const std::optional<std::string>& refusal() const { return refusal_; }

    /// `result` is what the recorded step returned.
    Recording finish(const Model& model, const StepResult& result);

  private:
    struct Place {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage;  ///< keeps the address from being used again
        int value;
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
    void refuse_unreplayable(const c10::OperatorHandle& op, const RecordedOp& record,
                             const std::vector<Use>& uses);
    bool depends_on_data(const std::vector<Use>& uses) const;
    static bool may_be_guarded(const c10::OperatorHandle& op, const RecordedOp& record);
    Argument argument_of(const c10::IValue& value, bool shape_only);
    void audit(const RecordedOp& record, const std::vector<Use>& uses);
    void refuse_shared_memory(const RecordedOp& record, const std::vector<Use>& uses, const at::Tensor& made);
    bool note_results(const torch::jit::Stack& stack, std::size_t returns, const std::vector<Use>& uses,
                      RecordedOp& record);
    void attribute(RecordedOp& record, bool vanished);
    Origin origin() const;
    void note_gradients_given(const std::vector<at::Tensor>& outputs,
                              const std::vector<at::Tensor>& gradients);
    [[noreturn]] void refuse(const std::string& op, const std::string& why);

    DeviceRuntime& device_;
    RecorderOptions options_;
    mutable ModulePaths paths_;  ///< remembers where it is in lists
    Recording recording_;
    std::unordered_map<const c10::StorageImpl*, Place> places_;
    std::map<std::string, int> operand_index_;
    std::map<std::uint64_t, Origin>
        by_sequence_;  ///< autograd's numbers of forward ops, vanished views included
    std::string last_backward_module_;
    Phase phase_ = Phase::forward;
    std::optional<std::string> refusal_;
    std::mutex mutex_;  ///< autograd may run the backward of a device on a thread of its own
};

}  // namespace rematlas
