// A step of training by a plan: the caller's tensors and autograd; only forward and backward are the plan's.
//
//     Result<std::shared_ptr<PlannedStep>> step = PlannedStep::create(graph, tape, schedule, tensors,
//     device); Result<PlannedForward> forward = step->forward(tensors, inputs);
//     ... any loss of forward->outputs; its backward runs the rest of the schedule ...
//
// The backward is a chain of autograd nodes, cut where gradients become final, so that what waits for
// gradients (DistributedDataParallel, hooks after accumulation) runs in between. Several forwards can be
// open.
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
    std::vector<at::Tensor> outputs;  ///< of Tape::outputs, in order, with their history
    std::int64_t frame = 0;           ///< of this forward, for `OriginalForward`
};

/// `run`: the original's forward of a frame on these inputs, with gradients; returns its outputs, throws when
/// it cannot. `used`: per output whether its gradient is given; empty where nobody knows yet. `forget`: the
/// frame is gone, what was kept for it can be dropped.
struct OriginalForward {
    std::function<std::vector<at::Tensor>(std::int64_t frame, const std::vector<at::Tensor>& inputs,
                                          const std::vector<bool>& used)>
        run;
    std::function<void(std::int64_t frame)> forget;
    /// Of a step that takes gradients itself: the backward of the frame has updated the parameters, or added to the sums.
    std::function<void(std::int64_t frame)> taken = {};
    /// That backward is over, and whatever else ran in it. What this throws its caller gets.
    std::function<void(std::int64_t frame)> over = {};
    /// Of such a step: whether some parameter has hooks on its gradient. What compiled code sees stays when Python's are removed.
    std::function<bool(std::int64_t frame)> has_hooks = {};
};

class PlannedStep : public std::enable_shared_from_this<PlannedStep> {
  public:
    /// `schedule` has passed `check`; `graph` is kept. `states`: what the caller's optimizer keeps, where the
    /// step ends with its updates. Errors: as Executor::create.
    static Result<std::shared_ptr<PlannedStep>> create(std::shared_ptr<const Graph> graph, Tape tape,
                                                       const Schedule& schedule,
                                                       const std::vector<NamedTensor>& tensors,
                                                       const std::string& owner,
                                                       std::shared_ptr<DeviceRuntime> device,
                                                       std::vector<at::Tensor> states = {});

    /// `tensors` in the order of Tape::bindings. `measured`: the peak is, also where
    /// DeviceRuntime::measures_unseen says that the caller sees it. The first step begins only where the
    /// device has room for it. Errors of the kind `negative`: the program's course has changed; nothing has
    /// happened, run the original. Others: what does not fit, what a kernel threw. What Python raises (Ctrl-C) ends the
    /// forward at its next op, and so a backward without updates; it is thrown as Python's own exception.
    Result<PlannedForward> forward(const std::vector<at::Tensor>& tensors,
                                   const std::vector<at::Tensor>& inputs, bool arena, bool measured,
                                   OriginalForward original);

    /// Lets the original run the forwards that are open, now: from here on their backward is the caller's
    /// graph's own, as without us. For plans whose gradients are sums, which several open forwards would sum
    /// in another order.
    void give_open_forwards_up();

    /// The gradients of the last backward of this plan are in these (of Tape::gradients, in order) as they were
    /// handed out: not replaced, not written to. Of those that are none nothing is asked.
    bool are_as_handed_out(const std::vector<std::optional<at::Tensor>>& gradients) const;

    /// The step by itself, without autograd: what a comparison with the original needs.
    Executor& executor() { return executor_; }
    DeviceRuntime& device() { return *device_; }
    const Graph& graph() const { return *graph_; }
    const Schedule& schedule() const { return schedule_; }
    const Tape& tape() const { return executor_.tape(); }
    std::size_t open() const { return executor_.open(); }

    bool sums_gradients = false;     ///< the module uses some parameter several times
    std::optional<Bytes> last_peak;  ///< of the last step where it was measured, residents included
    StepMemoryReport memory;         ///< of the last step's arena
    std::int64_t originals = 0;      ///< backwards that the original had to run
    std::string why_original = {};   ///< the last reason

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
    std::vector<int> differentiable_;  ///< outputs, by place
    std::vector<int> with_history_;  ///< outputs, by place: those, and such as the recorded loss did not use
    std::vector<WeakNode> open_nodes_;  ///< the first of each open forward's chain
    std::vector<int> trained_;          ///< per gradient of a parameter: its binding; -1 for an input's
    std::vector<std::vector<int>> parts_;
    std::vector<at::Tensor> tensors_;  ///< bound now
    std::vector<int> updated_;         ///< those that the step's own optimizer updates
    bool takes_gradients_ = false;     ///< the step ends with ops that do
    bool may_share_casts_ = false;     ///< with others in the region of autocast that its last forward ran in
    struct HandedOut {
        bool is_there = false;
        const c10::StorageImpl* memory = nullptr;  ///< to be compared, not looked at; null: it is copied
        std::uint32_t version = 0;
    };
    std::vector<HandedOut> handed_out_;  ///< per gradient, of the last backward
    std::vector<at::Tensor> buffers_;    ///< those among them that are no parameters
    std::optional<Room> room_;           ///< not looked for yet
    bool measured_ = false;              ///< the last step is
    CountingAllocator::OwnPages own_pages_{CountingAllocator::OwnPages::For::process};
    bool in_backward_ = false;
    bool is_guarded() const;
    bool is_taken(std::size_t place) const;
    void check_sums() const;
    std::string why_gradients_are_wanted(const std::function<bool()>& has_hooks) const;
    void stop_if_interrupted();
    NotEvicted not_evicted(const std::vector<at::Tensor>& read) const;
};

}  // namespace rematlas
