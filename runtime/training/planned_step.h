// A training step that runs by a plan. The plan runs forward and backward, on the caller's tensors and as a
// part of the caller's autograd graph.
//
//     Result<std::shared_ptr<PlannedStep>> step =
//         PlannedStep::create(graph, tape, schedule, named, owner, device);
//     Result<PlannedForward> forward = (*step)->forward(tensors, inputs, arena, measured, original);
//     ... any loss of forward->outputs; its backward runs the rest of the schedule ...
//
// The backward is a chain of autograd nodes. It is cut at points where gradients become final, so that code
// that waits for gradients (DistributedDataParallel, hooks after accumulation) runs in between. Several
// forwards can be open.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/allocator/counting_allocator.h"
#include "runtime/device/device.h"
#include "runtime/replay/executor.h"
#include "runtime/replay/room.h"
#include "runtime/torch_versions/autograd_nodes.h"
#include "runtime/training/within_eviction.h"

namespace rematlas {

struct PlannedForward {
    std::vector<at::Tensor> outputs;  ///< tensors of Tape::outputs, in order, with their history
    std::int64_t frame = 0;           ///< number of this forward, for `OriginalForward`
};

/// Functions with which a planned step uses the original. A frame is one forward of the step with its
/// backward. `run` runs the original's forward of a frame on these inputs, with gradients. It returns the
/// outputs, and throws if it cannot run. `used`: for each output, whether its gradient is given; empty if
/// this is not known yet. `forget` is called when the frame no longer exists, so everything that was kept for
/// it can be dropped.
struct OriginalForward {
    std::function<std::vector<at::Tensor>(std::int64_t frame, const std::vector<at::Tensor>& inputs,
                                          const std::vector<bool>& used)>
        run;
    std::function<void(std::int64_t frame)> forget;
    /// Called in a step that uses up gradients itself, when the backward of the frame has updated the
    /// parameters or added to the sums of gradients.
    std::function<void(std::int64_t frame)> taken = {};
    /// Called when the whole backward in which the frame's backward ran is over. An exception of this
    /// function reaches the caller of the backward.
    std::function<void(std::int64_t frame)> over = {};
    /// Says whether some parameter has hooks on its gradient, for a step that uses up gradients itself.
    /// Compiled code cannot tell, because the objects that it sees remain when Python's hooks are removed.
    std::function<bool(std::int64_t frame)> has_hooks = {};
};

class PlannedStep : public std::enable_shared_from_this<PlannedStep> {
  public:
    /// `schedule` must have passed `check`. The step keeps `graph`. `states`: the tensors that the caller's
    /// optimizer keeps, if the step ends with its updates. Errors: as Executor::create.
    static Result<std::shared_ptr<PlannedStep>> create(std::shared_ptr<const Graph> graph, Tape tape,
                                                       const Schedule& schedule,
                                                       const std::vector<NamedTensor>& tensors,
                                                       const std::string& owner,
                                                       std::shared_ptr<DeviceRuntime> device,
                                                       std::vector<at::Tensor> states = {});

    /// Runs the forward. `tensors` are in the order of Tape::bindings. `measured`: whether to measure the
    /// peak even if measuring changes statistics that the caller sees. If measuring changes none
    /// (DeviceRuntime::measures_unseen), the peak is always measured. The first step begins only if the
    /// device has enough memory. Fails with `ErrorKind::negative` if the program's course has changed; then
    /// nothing has happened, and the original has to run. Also fails if tensors do not fit, or if a kernel
    /// throws an exception. If Python raises an exception meanwhile (Ctrl-C), the forward ends at its next
    /// op. A backward likewise ends at its next op if the plan has no ops of the optimizer. The caller sees
    /// Python's own exception.
    Result<PlannedForward> forward(const std::vector<at::Tensor>& tensors,
                                   const std::vector<at::Tensor>& inputs, bool arena, bool measured,
                                   OriginalForward original);

    /// Runs the original now for each open forward. From now on the caller's graph, not the plan, runs the
    /// backward of these forwards. Used for plans that sum gradients: with several open forwards, autograd
    /// would sum the gradients in another order than the plan.
    void give_open_forwards_up();

    /// Says whether `gradients` still are the tensors that the last backward of this plan returned, neither
    /// replaced nor written to. They are in the order of Tape::gradients. A position without a tensor is not
    /// checked.
    bool are_as_handed_out(const std::vector<std::optional<at::Tensor>>& gradients) const;

    /// Returns the step without autograd, for a comparison with the original.
    Executor& executor() { return executor_; }
    DeviceRuntime& device() { return *device_; }
    const Graph& graph() const { return *graph_; }
    const Schedule& schedule() const { return schedule_; }
    const Tape& tape() const { return executor_.tape(); }
    std::size_t open() const { return executor_.open(); }

    bool sums_gradients = false;     ///< whether the module uses some parameter several times
    std::optional<Bytes> last_peak;  ///< peak of the last step if it was measured, including residents
    StepMemoryReport memory;         ///< report on the arena of the last step
    std::int64_t originals = 0;      ///< number of backwards that the original had to run
    std::string why_original = {};   ///< why the original had to run the last of these backwards

  private:
    class InBackward;
    class Frame;
    class PartNode;
    PlannedStep(std::shared_ptr<const Graph> graph, const Schedule& schedule, Executor executor,
                std::shared_ptr<DeviceRuntime> device);

    std::shared_ptr<const Graph> graph_;
    Schedule schedule_;
    std::shared_ptr<DeviceRuntime> device_;
    Executor executor_;
    std::vector<int> differentiable_;   ///< positions of the outputs that are differentiable
    std::vector<int> with_history_;     ///< positions of outputs: the differentiable ones, then those that
                                        ///< the recorded loss did not use
    std::vector<WeakNode> open_nodes_;  ///< first node of the chain of each open forward
    std::vector<int> trained_;          ///< per gradient: index of the binding of its parameter; -1 for the
                                        ///< gradient of an input
    std::vector<std::size_t> terms_;    ///< per gradient: the most terms that the original may add up to it
    std::vector<std::vector<int>> parts_;  ///< per part of the backward: positions of its gradients
    std::vector<at::Tensor> tensors_;      ///< tensors that are bound now
    std::vector<int> updated_;             ///< bindings of the tensors that the step's own optimizer updates
    bool takes_gradients_ = false;         ///< whether the step ends with ops that use up the gradients
    bool may_share_casts_ = false;  ///< whether the last forward ran in a region of autocast that caches
                                    ///< casts
    struct HandedOut {
        bool is_there = false;
        const c10::StorageImpl* memory = nullptr;  ///< only compared, never dereferenced; null if autograd
                                                   ///< copied the gradient
        std::uint32_t version = 0;
    };
    std::vector<HandedOut> handed_out_;  ///< gradients of the last backward, by position
    std::vector<at::Tensor> buffers_;    ///< the tensors of `tensors_` that are not parameters
    std::optional<Room> room_;           ///< memory that the step needs; absent once a forward has checked
                                         ///< that the device has it
    bool measured_ = false;              ///< whether the peak of the last step was measured
    CountingAllocator::OwnPages own_pages_{CountingAllocator::OwnPages::For::process};
    bool in_backward_ = false;
    bool is_guarded() const;
    bool is_taken(std::size_t place) const;
    const char* why_sums_differ(const std::vector<at::Tensor>& inputs) const;
    void check_casts() const;
    std::string why_gradients_are_wanted(const std::function<bool()>& has_hooks) const;
    void stop_if_interrupted();
    NotEvicted not_evicted(const std::vector<at::Tensor>& read) const;
};

}  // namespace rematlas
