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

/// The results of a step. Results that the schedule leaves on the host (Homes::on_host) are tensors of the
/// CPU, which are valid until the next step.
struct Replayed {
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> gradients;  ///< those of Tape::gradients, in order; undefined where there is none
    Bytes peak;                         ///< peak of the step, residents included
    Nanoseconds time;                   ///< wall-clock time of the step
    std::vector<StepMeasure> steps;     ///< one per step of the schedule, when asked for
    StepMemoryReport memory;            ///< report on the arena, when asked for
    Bytes host_peak;                    ///< peak of the bytes that the schedule moved to the host
    Bytes slab;                         ///< host memory that was set aside for those bytes
};

/// The first half of a step.
struct Forwarded {
    std::vector<at::Tensor> outputs;
    std::uint64_t number = 0;  ///< number of this forward, by which its backward finds it
    std::size_t parts = 1;     ///< number of parts in which the backward can be run
    Bytes peak;                ///< peak of the step so far, residents included
};

/// The results of a part of the second half.
struct BackwardPartDone {
    std::vector<std::pair<int, at::Tensor>> gradients;  ///< with their places in Tape::gradients
    bool last = false;
    Bytes peak;               ///< peak of the step so far, residents included
    StepMemoryReport memory;  ///< report on the arena, after the last part
};

class Executor {
  public:
    /// Binds the model's parameters and buffers by name. Errors: names, shapes or types that do not match,
    /// operators that this libtorch does not have. `graph` must have been captured (Graph::replay) and
    /// outlive the executor.
    static Result<Executor> create(const Graph& graph, const Model& model, DeviceRuntime& device);
    /// The same for parameters and buffers of any kind of module; errors begin with `owner`. `tensors` has
    /// an entry for each name of a tensor that several names share.
    static Result<Executor> create(const Graph& graph, const std::vector<NamedTensor>& tensors,
                                   const std::string& owner, DeviceRuntime& device);
    /// The same with a tape that is already in memory, and with the states of the caller's optimizer if
    /// there is one.
    static Result<Executor> create(const Graph& graph, Tape tape, const std::vector<NamedTensor>& tensors,
                                   const std::string& owner, DeviceRuntime& device,
                                   std::vector<at::Tensor> states = {});

    Executor(Executor&&) noexcept;
    Executor& operator=(Executor&&) noexcept;
    ~Executor();

    /// `steps` must have passed `check`. `inputs` are in the order of Tape::inputs. Buffers of the model
    /// are updated. Residents that live on the host are moved there in the first step: from then on their
    /// tensors look at host memory between steps, and are complete there. Cyclic steps end when all copies
    /// are done. Errors: wrong inputs; a step that the executor does not support; an exception of a kernel,
    /// with the op; of the kind `negative`: the program's course has changed (a guarded value differs).
    Result<Replayed> run(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                         const ReplayOptions& options = {}, const Homes& homes = {});
    /// The work of the links in such a step; null if nothing moves to the host. Errors: as `run`.
    Result<std::shared_ptr<const StepTransferPlan>> transfers_of(std::span<const Step> steps,
                                                                 const Homes& homes = {});
    /// Sets other links than the device's. No step may be open.
    void use(StepLinks links);

    /// Captures the steps as graphs that the device repeats as a whole (CUDA graphs), without running them.
    /// There is one set of graphs, which keeps the memory that the steps take. The functions for halves
    /// below do not use the graphs. Errors: as `run`; a device that captures no graphs; the op that
    /// prevents it.
    Result<void> capture_graphs(std::span<const Step> steps, const std::vector<at::Tensor>& inputs);
    /// Submits the captured steps, with the results that `run` would give. Every submission leaves outputs
    /// and gradients in the same memory, so that they are valid until the next one. Replayed::peak is that
    /// of the capture. Errors: nothing was captured; wrong inputs; parameters or buffers that were given
    /// other memory since.
    Result<Replayed> run_graphs(const std::vector<at::Tensor>& inputs, std::uint64_t gradient_seed = 0);
    /// Gives the memory of the graphs back. The caller must no longer hold results of the last submission.
    void drop_graphs();

    /// Runs the steps before the one that asks for the gradients of the outputs. Afterwards the generator
    /// and the buffers are as the original's forward leaves them (except that a buffer whose only write the
    /// schedule puts into the second half moves there). Parameters may have been given other memory since
    /// the last step. Of the options, `arena`, `measure_peak` and `before_op` count, in both halves.
    /// Errors: as `run`, and where the course has changed, generator and buffers are as before; a graph
    /// with a loss of its own; a schedule that does not have all outputs at that step.
    Result<Forwarded> forward(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                              const ReplayOptions& options = {}, const Homes& homes = {});

    /// Checks that the gradients arrive as they did when the step was captured: defined in the same places,
    /// with the same layout in memory. Errors: the first difference.
    Result<void> check_gradients(const std::vector<at::Tensor>& output_gradients) const;

    /// Runs the rest of the steps. The generator stays where it is unless ops of the backward itself draw
    /// from it. `output_gradients`: one for each of `differentiable_outputs()`, in order. A gradient that
    /// nobody else holds is used as it is; others are copied. The returned gradients share memory with
    /// nothing. Replayed::peak counts the bytes of the step, not those that the caller holds beside it.
    /// Errors: as `run`; a forward that has had its backward, or that was dropped; parameters, inputs or
    /// outputs that were written to since.
    Result<Replayed> backward(std::uint64_t number, std::vector<at::Tensor> output_gradients);
    /// Runs the backward in parts: the first call passes the gradients of the outputs, further calls pass
    /// nothing. The executor no longer holds the gradients that a part hands out.
    Result<BackwardPartDone> backward_part(std::uint64_t number,
                                           std::vector<at::Tensor> output_gradients = {});
    /// For each part in order: the places of the gradients that it hands out.
    Result<std::vector<std::vector<int>>> parts_of(std::span<const Step> steps, const Homes& homes = {});

    /// Undoes an open forward as far as a rerun by the original needs it: the tensors of the forward are
    /// freed, and until `restore` the generator and the buffers that ops read are as before the forward.
    Result<void> rewind(std::uint64_t number);
    void restore(std::uint64_t number);

    /// The present state of the generator and of everything that the step writes to.
    std::unique_ptr<Snapshot> snapshot() const;
    /// Whether some op of the step draws random numbers.
    bool draws() const;

    /// Forgets a forward whose backward will not come.
    void drop(std::uint64_t number);
    std::size_t open() const;  ///< number of forwards whose backward has not run
    /// True if the backward of the last forward will move buffers on. Then no other forward may come
    /// between its halves.
    bool moves_buffers_late() const;

    /// Takes other tensors in place of those that were bound; see BoundModel::rebind.
    Result<void> rebind(const std::vector<at::Tensor>& tensors);
    Result<void> rebind_states(std::vector<at::Tensor> tensors);

    /// The outputs, by place, whose gradients `backward` needs; none if the graph has a loss of its own.
    std::vector<int> differentiable_outputs() const;

    const Tape& tape() const;
    /// The tape, in which the caller may change values that ops take as arguments, between steps. The ops
    /// themselves and their operands must stay.
    Tape& change_values();
    /// The tensors that the optimizer of the step keeps, in the order of Tape::states.
    const std::vector<at::Tensor>& states() const;

    /// The most parts that a backward is cut into.
    static constexpr std::size_t most_parts = 32;

  private:
    struct State;
    explicit Executor(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rematlas
