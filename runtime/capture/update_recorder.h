// Records a step of an optimizer from shapes: the tensors that it keeps from step to step, those that it
// writes to, and those that it holds only while it runs.
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
    std::string name;  ///< name of the parameter, also for its gradient; for a state, layer.weight.exp_avg
    at::Tensor tensor;
};

/// Ops of the update that write to no tensor which another part touches. Numbers are places in
/// RecordedUpdate::tensors.
struct UpdatePart {
    std::vector<int> reads, writes;  ///< ascending; a tensor may be in both
    std::vector<OpCall> calls;
    /// The most bytes of temporaries that are alive at one of the part's ops, as the device hands them out.
    std::int64_t temporaries = 0;
};

struct RecordedUpdate {
    /// The given tensors that are on the device; then those that the step was found to keep.
    std::vector<UpdateTensor> tensors;
    /// In the order in which they begin, without parts that only count steps.
    std::vector<UpdatePart> parts;
    bool reads_values = false;  ///< the program asked for numbers, and was told that each is 1
    /// Ops that return nothing and have no shape function. They write to the tensors that they declare, and
    /// are assumed to hold no other memory.
    std::vector<std::string> unknown_kernels;
};

class UpdateRecorder final : public DispatchMode {
  public:
    /// `device` is one of a profile, and outlives the recorder. Tensors are shape tensors. Tensors of
    /// another device (numbers in host memory) are not counted.
    UpdateRecorder(std::vector<UpdateTensor> tensors, DeviceRuntime& device);

    /// Throws the exceptions of the op's own checks, and the reason why an op has no shapes.
    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) override;
    void is_traced(const c10::OperatorHandle& op) override;

    /// To be called after the step.
    RecordedUpdate finish();

  private:
    /// A storage that the update meets.
    struct Memory {
        c10::weak_intrusive_ptr<c10::StorageImpl> storage;
        std::int64_t bytes = 0;     ///< bytes as the device hands them out
        int given = -1;             ///< its index among the tensors, or -1
        bool made = false;          ///< an op of the step has made it
        bool written = false;       ///< an op of the step has written to it
        bool counts_alive = false;  ///< counted among the temporaries
        at::Tensor example;         ///< a tensor on it, if no op has made it; see `memory_of`
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
