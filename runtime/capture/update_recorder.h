// Records a step of an optimizer from shapes: which tensors the optimizer keeps from step to step, which it
// writes to, and which it holds only while it runs.
//
//     UpdateRecorder recorder(tensors, device);
//     {
//         DispatchModeGuard guard(recorder);
//         ... optimizer.step() ...
//     }
//     const RecordedUpdate update = recorder.finish();
//     add_recorded_update(step, update, device);            // capture/recorded_update_ops.h
//
// A temporary counts from the op that makes it until nobody holds it. If a local variable of the program
// lives on into the update of the next parameter, its tensor counts in that update too.
#pragma once

#include <c10/core/StorageImpl.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "core/costs/roofline.h"
#include "runtime/device/device.h"
#include "runtime/dispatch/mode.h"
#include "runtime/shapes/shape_kernels.h"

namespace rematlas {

struct UpdateTensor {
    enum class Kind : std::uint8_t { parameter, gradient, state };
    Kind kind = Kind::state;
    /// The name of the parameter, also if the tensor is its gradient. For a state: e.g. layer.weight.exp_avg.
    std::string name;
    at::Tensor tensor;
};

/// A group of ops of the update. No other part reads or writes the tensors that these ops write to.
struct UpdatePart {
    std::vector<int> reads, writes;  ///< indices in RecordedUpdate::tensors, ascending; may overlap
    std::vector<OpCall> calls;
    /// Peak bytes: the most bytes of temporaries that are alive at once during the part's ops, including the
    /// allocator's rounding.
    std::int64_t temporaries = 0;
};

struct RecordedUpdate {
    /// First the given tensors that are on the device, then further tensors that the optimizer keeps.
    std::vector<UpdateTensor> tensors;
    /// The parts in the order in which they begin, without parts that only count steps.
    std::vector<UpdatePart> parts;
    bool reads_values = false;  ///< whether the program read values of tensors; the program got 1 for each
    /// Ops that return nothing and have no shape function, except fused optimizers. They are assumed to write
    /// to the tensors that they declare and to hold no other memory.
    std::vector<std::string> unknown_kernels;
};

class UpdateRecorder final : public DispatchMode {
  public:
    /// `device` must be made from a device profile, and must outlive the recorder. The tensors must have no
    /// data (shapes/shape_tensor.h). Tensors on another device (numbers in host memory) are not counted.
    UpdateRecorder(std::vector<UpdateTensor> tensors, DeviceRuntime& device);

    /// Throws the exceptions of the op's own checks. Also throws, with the reason, if the shapes of an op's
    /// results cannot be found.
    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) override;
    void is_traced(const c10::OperatorHandle& op) override;

    /// Must be called after the step.
    RecordedUpdate finish();

  private:
    /// A storage that the update touches.
    struct Memory {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage;
        std::int64_t bytes = 0;  ///< bytes that the device allocates for the storage
        int given = -1;          ///< index of its tensor in RecordedUpdate::tensors, or -1
        bool made = false;       ///< an op of the step has made the storage
        bool written = false;    ///< an op of the step has written to the storage
        at::Tensor example;      ///< if no op made the storage: a meta tensor like the first seen on it
    };
    struct Touch {
        int memory;
        bool written;
    };
    struct Recorded {
        std::vector<Touch> touches;
        OpCall cost;
        std::int64_t temporaries;
    };

    bool lies_on_device(const at::Tensor& tensor) const;
    int memory_of(const at::Tensor& tensor, bool made);
    void touch(const at::Tensor& tensor, bool written, Recorded& record);
    void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    void drop_dead();
    void settle_sizes();
    bool is_kept(const Memory& memory) const;
    bool only_counts(const UpdatePart& part) const;

    DeviceRuntime& device_;
    ShapeKernels shapes_;
    RecordedUpdate update_;
    std::vector<Memory> memories_;
    std::unordered_map<const c10::StorageImpl*, int> places_;
    std::vector<int> living_;  ///< indices of memories whose bytes are counted as temporaries
    std::int64_t temporaries_ = 0;
    std::vector<Recorded> ops_;
};

}  // namespace rematlas
