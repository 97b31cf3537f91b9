// Executes schedules of a captured step, without autograd and without ever running the whole model.
//
//     Result<Executor> executor = Executor::create(graph, model, *device);
//     Result<Replayed> step = executor->run(schedule.steps, inputs, {.gradient_seed = 1});
//
// In training the loss is the caller's, so the step comes in two halves, of which several can be open:
//
//     Result<Forwarded> forward = executor->forward(schedule.steps, inputs);
//     ... the loss of forward->outputs, and its gradients ...
//     Result<Replayed> backward = executor->backward(forward->number, std::move(output_gradients));
//
// Outputs, gradients, buffers and the generator's state are those of the original step, bit by bit, on the
// same device with deterministic kernels: a recomputed random op draws the same numbers again and leaves the
// generator alone, running statistics move once, and no op sees an input that was written to after it first
// ran. Threads: one executor per process at a time; kernels use as many threads as libtorch is set to.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/device/device.h"
#include "runtime/model/model.h"
#include "runtime/replay/open_forward.h"
#include "runtime/replay/replay_run.h"

namespace rematlas {

/// Results that the schedule leaves on the host (Homes::on_host) are tensors of the CPU: they hold until the next step.
struct Replayed {
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> gradients;  ///< of Tape::gradients, in order; undefined where there is none
    Bytes peak;                         ///< residents included
    Nanoseconds time;                   ///< wall clock
    std::vector<StepMeasure> steps;     ///< one per step of the schedule, when asked for
    StepMemoryReport memory;            ///< of the arena, when asked for
    Bytes host_peak;                    ///< of what the schedule moved to the host
    Bytes slab;                         ///< of host memory that was set aside for that
};

/// The first half of a step.
struct Forwarded {
    std::vector<at::Tensor> outputs;
    std::uint64_t number = 0;  ///< of this forward, for its backward
    std::size_t parts = 1;     ///< in which its backward can be had
    Bytes peak;                ///< so far, residents included
};

/// What a part of the second half made.
struct BackwardPartDone {
    std::vector<std::pair<int, at::Tensor>> gradients;  ///< with their places in Tape::gradients
    bool last = false;
    Bytes peak;               ///< of the step so far, residents included
    StepMemoryReport memory;  ///< of the arena, after the last part
};

class Executor {
  public:
    /// Binds the model's parameters and buffers by name. Errors: names, shapes or types that do not match,
    /// operators that this libtorch does not have. `graph` must have been captured (Graph::replay) and
    /// outlive the executor.
    static Result<Executor> create(const Graph& graph, const Model& model, DeviceRuntime& device);
    /// The same for parameters and buffers of any kind of module; errors begin with `owner`. Of tensors that
    /// several names share, each name is there.
    static Result<Executor> create(const Graph& graph, const std::vector<NamedTensor>& tensors,
                                   const std::string& owner, DeviceRuntime& device);
    /// The same with a tape that is already in memory, and with the states of the caller's optimizer where it
    /// has any.
    static Result<Executor> create(const Graph& graph, Tape tape, const std::vector<NamedTensor>& tensors,
                                   const std::string& owner, DeviceRuntime& device,
                                   std::vector<at::Tensor> states = {});

    Executor(Executor&&) noexcept;
    Executor& operator=(Executor&&) noexcept;
    ~Executor();

    /// `steps` must have passed `check`. `inputs` in the order of Tape::inputs. Buffers of the model are
    /// updated. Residents that live on the host are bound there from the first step on: their tensors look at
    /// host memory between steps, and are whole there; cyclic steps end when all copies are done. Errors: wrong
    /// inputs; a step that the executor does not do; what a kernel threw, with the op; of the kind `negative`:
    /// the program's course has changed (a guarded value is another one).
    Result<Replayed> run(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                         const ReplayOptions& options = {}, const Homes& homes = {});
    /// What the links do in such a step; null where nothing moves to the host. Errors: as `run`.
    Result<std::shared_ptr<const StepTransferPlan>> transfers_of(std::span<const Step> steps,
                                                                 const Homes& homes = {});
    /// Other links than the device's. No step is open.
    void use(StepLinks links);

    /// Captures the steps as graphs that the device repeats as a whole (CUDA graphs), without running them.
    /// The memory that they take stays with the graphs, of which there is one set. Errors: as `run`; a device
    /// that captures no graphs; the op that prevents it. The halves below run plainly.
    Result<void> capture_graphs(std::span<const Step> steps, const std::vector<at::Tensor>& inputs);
    /// Submits what was captured, as `run` would have run it. Outputs and gradients lie where every
    /// submission leaves them: they hold until the next one. Replayed::peak is that of the capture. Errors:
    /// nothing was captured; wrong inputs; parameters or buffers that were given other memory since.
    Result<Replayed> run_graphs(const std::vector<at::Tensor>& inputs, std::uint64_t gradient_seed = 0);
    /// Gives the memory of the graphs back. What the last submission left must not be held any more.
    void drop_graphs();

    /// The steps before the one that asks for the gradients of the outputs. Afterwards the generator and the
    /// buffers are as the original's forward leaves them (a buffer whose only write the schedule puts into
    /// the second half moves there). Parameters may have been given other memory since the last step. Of the
    /// options `arena`, `measure_peak` and `before_op` (in both halves) count. Errors: as `run`, and then generator and buffers are as before where the
    /// course has changed; a graph with a loss of its own; a schedule that does not have all outputs at that
    /// step.
    Result<Forwarded> forward(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                              const ReplayOptions& options = {}, const Homes& homes = {});

    /// The gradients arrive as they did when the step was captured: defined, and lying in memory, where they
    /// did. What differs is named.
    Result<void> check_gradients(const std::vector<at::Tensor>& output_gradients) const;

    /// The rest of the steps; leaves the generator alone unless ops of the backward itself draw from it.
    /// `output_gradients`: one for each of `differentiable_outputs()`, in order. One that nobody else holds
    /// is used as it is, others are copied. The gradients returned share memory with nothing. Replayed::peak
    /// counts what the step holds, not what the caller holds beside it. Errors: as `run`; a forward that has
    /// had its backward, or that was dropped; parameters, inputs or outputs that were written to since.
    Result<Replayed> backward(std::uint64_t number, std::vector<at::Tensor> output_gradients);
    /// The same in parts: the first call gives the gradients of the outputs, further ones nothing. Gradients
    /// that a part hands out are no longer held here.
    Result<BackwardPartDone> backward_part(std::uint64_t number,
                                           std::vector<at::Tensor> output_gradients = {});
    /// Of each part in order, the places of the gradients that it hands out.
    Result<std::vector<std::vector<int>>> parts_of(std::span<const Step> steps, const Homes& homes = {});

    /// Undoes an open forward as far as the original's rerun needs it: its tensors are gone, and until
    /// `restore` the generator and the buffers that ops read are as before it.
    Result<void> rewind(std::uint64_t number);
    void restore(std::uint64_t number);

    /// Where the generator and everything that the step writes to stand now.
    std::unique_ptr<Snapshot> snapshot() const;
    /// Whether some op of the step draws random numbers.
    bool draws() const;

    /// Forgets a forward whose backward will not come.
    void drop(std::uint64_t number);
    std::size_t open() const;  ///< forwards whose backward has not run
    /// Of the last forward: its backward will move buffers on. No other forward must come between its halves.
    bool moves_buffers_late() const;

    /// Takes other tensors in place of those that were bound; see BoundModel::rebind.
    Result<void> rebind(const std::vector<at::Tensor>& tensors);
    Result<void> rebind_states(std::vector<at::Tensor> tensors);

    /// The outputs, by place, that `backward` needs the gradients of; none when the graph has a loss of its
    /// own.
    std::vector<int> differentiable_outputs() const;

    const Tape& tape() const;
    /// To change values that ops take as arguments, between steps; what ops there are and what they look at stays.
    Tape& change_values();
    /// What the optimizer of the step keeps, in the order of Tape::states.
    const std::vector<at::Tensor>& states() const;

    /// The most parts that a backward is cut into.
    static constexpr std::size_t most_parts = 32;

  private:
    struct State;
    explicit Executor(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rematlas
