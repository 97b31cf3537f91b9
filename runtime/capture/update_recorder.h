// Records a step of an optimizer from shapes: which tensors it keeps from step to step, what it writes to,
// and what it holds only while it runs.
//
//     UpdateRecorder recorder(tensors, device);
//     {
//         DispatchModeGuard guard(recorder);
//         ... optimizer.step() ...
//     }
//     const RecordedUpdate update = recorder.finish();
//     add_recorded_update(step, update, device);            // capture/recorded_update_ops.h
//
// A temporary counts from the op that makes it until nobody has it: a local variable of the program that
// lives on into the update of the next parameter counts there too.
#pragma once

#include <c10/core/StorageImpl.h>

#include <map>
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
    std::string name;  ///< of the parameter, also of its gradient; of the state, layer.weight.exp_avg
    at::Tensor tensor;
};

/// Ops of the update that write to no tensor which another part touches. Numbers are places in
/// RecordedUpdate::tensors.
struct UpdatePart {
    std::vector<int> reads, writes;  ///< ascending; what it writes to may be among what it reads
    std::vector<OpCall> calls;
    /// The most bytes alive at one of its ops that belong to none of the tensors, as the device hands them
    /// out.
    std::int64_t temporaries = 0;
};

struct RecordedUpdate {
    /// Those that were given and lie on the device; then those that the step was found to keep.
    std::vector<UpdateTensor> tensors;
    /// In the order in which they begin; without those that count steps and do nothing else.
    std::vector<UpdatePart> parts;
    bool reads_values = false;  ///< the program was told that each number it asked for is 1
    /// Ops that return nothing and have no shape function: they write to what they declare, and are taken to
    /// hold nothing more.
    std::vector<std::string> unknown_kernels;
};

class UpdateRecorder final : public DispatchMode {
  public:
    /// `device`, of a profile, outlives it. Tensors are shape tensors; those of another device, numbers in
    /// host memory, are not counted.
    UpdateRecorder(std::vector<UpdateTensor> tensors, DeviceRuntime& device);

    /// Throws what the op's own checks throw, and why an op has no shapes.
    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) override;
    void is_traced(const c10::OperatorHandle& op) override;

    /// After the step.
    RecordedUpdate finish();

  private:
    /// A storage that the update meets.
    struct Memory {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage;
        std::int64_t bytes = 0;     ///< as the device hands them out
        int given = -1;             ///< the place among the tensors
        bool made = false;          ///< by an op of the step
        bool written = false;       ///< by one
        bool counts_alive = false;  ///< among the temporaries
        at::Tensor example;         ///< a tensor on it, where no op has made it; see `hold`
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
    int touch(const at::Tensor& tensor, bool written, Recorded& record);
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
    std::vector<int> living_;  ///< memories whose bytes are among the temporaries
    std::int64_t temporaries_ = 0;
    std::vector<Recorded> ops_;
};

}  // namespace rematlas
