// Executes schedules of a captured step, without autograd and without ever running the model as a whole.
//
//     Result<Executor> executor = Executor::create(graph, model, *device);
//     Result<Replayed> step = executor->run(schedule.steps, inputs, {.gradient_seed = 1});
//
// In training the caller computes the loss, so a training step has two halves: forward and backward. Several
// forwards may be open, with their backwards still to come:
//
//     Result<Forwarded> forward = executor->forward(schedule.steps, inputs);
//     ... the loss of forward->outputs, and its gradients ...
//     Result<Replayed> backward = executor->backward(forward->number, std::move(output_gradients));
//
// Outputs, gradients, buffers and the generator's state are those of the original step, bit by bit, on the
// same device with deterministic kernels. A recomputed random op draws the same numbers again and does not
// advance the generator. Running statistics are updated once. An op that runs again reads the same inputs as
// in its first run. Threads: only one executor per process may run at a time; kernels use as many threads as
// libtorch is set to.
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

/// The results of a training step. If the schedule leaves results on the host (Homes::on_host), these results
/// are tensors of the CPU, which are valid until the next training step.
struct Replayed {
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> gradients;  ///< gradients in the order of Tape::gradients; undefined if there is
                                        ///< none
    Bytes peak;                         ///< peak of the step, residents included
    Nanoseconds time;                   ///< wall-clock time of the step
    std::vector<StepMeasure> steps;     ///< measures of each step of the schedule, if asked for
    StepMemoryReport memory;            ///< report on the arena, if asked for
    Bytes host_peak;                    ///< peak of the bytes that the schedule moved to the host
    Bytes slab;                         ///< host memory that was reserved for these bytes
};

/// The results of a step's forward.
struct Forwarded {
    std::vector<at::Tensor> outputs;
    std::uint64_t number = 0;  ///< number of this forward, which `backward` takes
    std::size_t parts = 1;     ///< number of parts in which the backward can run
    Bytes peak;                ///< peak of the step so far, residents included
};

/// The results of one part of a step's backward.
struct BackwardPartDone {
    std::vector<std::pair<int, at::Tensor>> gradients;  ///< gradients with their positions in Tape::gradients
    bool last = false;
    Bytes peak;               ///< peak of the step so far, residents included
    StepMemoryReport memory;  ///< report on the arena, after the last part
};

class Executor {
  public:
    /// Binds the model's parameters and buffers by name. Fails if names, shapes or types do not match, or if
    /// this libtorch lacks an operator. `graph` must have been captured (Graph::replay) and must outlive the
    /// executor.
    static Result<Executor> create(const Graph& graph, const Model& model, DeviceRuntime& device);
    /// Binds the parameters and buffers of any kind of module by name; errors begin with `owner`. A
    /// tensor with several names has an entry in `tensors` for each name.
    static Result<Executor> create(const Graph& graph, const std::vector<NamedTensor>& tensors,
                                   const std::string& owner, DeviceRuntime& device);
    /// Takes a tape that is already in memory, and the states of the caller's optimizer if the step has one.
    /// Fails as the other two `create` functions do.
    static Result<Executor> create(const Graph& graph, Tape tape, const std::vector<NamedTensor>& tensors,
                                   const std::string& owner, DeviceRuntime& device,
                                   std::vector<at::Tensor> states = {});

    Executor(Executor&&) noexcept;
    Executor& operator=(Executor&&) noexcept;
    ~Executor();

    /// Runs the steps, which must have passed `check`. `inputs` are in the order of Tape::inputs. Buffers of
    /// the model are updated. The first call moves residents with a home on the host to host memory; from
    /// then on, their tensors refer to this memory and are complete between calls. If the steps are cyclic,
    /// all copies are done when the function returns. Fails if inputs are wrong, if the executor does not
    /// support a step, or if a kernel throws an exception; the error names the op. Fails with
    /// `ErrorKind::negative` if the program's course has changed (a guarded value differs).
    Result<Replayed> run(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                         const ReplayOptions& options = {}, const Homes& homes = {});
    /// Returns the plan of the copies that `run` makes for these steps; null if the steps move nothing to the
    /// host. Errors: as `run`.
    Result<std::shared_ptr<const StepTransferPlan>> transfers_of(std::span<const Step> steps,
                                                                 const Homes& homes = {});
    /// Makes the executor use these links instead of the device's. No forward may be open.
    void use(StepLinks links);

    /// Captures the steps as graphs that the device repeats as a whole (CUDA graphs), without running them.
    /// The executor has only one set of graphs, which keeps the memory of the steps. `forward` and `backward`
    /// below do not use the graphs. Errors: as `run`. Also fails if the device cannot capture graphs or if an
    /// op prevents it; the error names the op.
    Result<void> capture_graphs(std::span<const Step> steps, const std::vector<at::Tensor>& inputs);
    /// Submits the captured steps. The results are the same as with `run`. Every submission writes outputs
    /// and gradients to the same memory, so results are valid until the next submission. Replayed::peak is
    /// the peak of the capture. Fails if nothing was captured, if inputs are wrong, or if parameters or
    /// buffers were given other memory since the capture.
    Result<Replayed> run_graphs(const std::vector<at::Tensor>& inputs, std::uint64_t gradient_seed = 0);
    /// Frees the memory of the graphs. The caller must no longer hold results of the last submission.
    void drop_graphs();

    /// Runs the steps of the schedule up to the one that asks for the gradients of the outputs. Afterwards
    /// the generator and the buffers are as after the original's forward. (If the schedule makes the contents
    /// of one updated buffer after the loss, no buffer in Tape::updates has its new contents yet.) Parameters
    /// may have been given other memory since the last training step. Of the options, only those of the
    /// arena, `measure_peak` and `before_op` have an effect; they hold for the backward too. Errors: as
    /// `run`; if the course has changed, generator and buffers are restored. Also fails if the graph has its
    /// own loss, or if some output does not exist when the gradients are asked for.
    Result<Forwarded> forward(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                              const ReplayOptions& options = {}, const Homes& homes = {});

    /// Checks that the gradients of the outputs are defined and have the memory layout that they had when the
    /// step was captured. The error tells the first difference.
    Result<void> check_gradients(const std::vector<at::Tensor>& output_gradients) const;

    /// Runs the rest of the steps. The generator does not move unless ops of the backward itself draw random
    /// numbers. `output_gradients` has a gradient for each of `differentiable_outputs()`, in order. A
    /// gradient is used in place if its layout fits, and if either nobody else holds it or no step writes
    /// over it; other gradients are copied. The returned gradients share no memory with other tensors.
    /// Replayed::peak counts the bytes of the step, without other bytes that the caller holds. Errors: as
    /// `run`. Also fails if the backward has run already, if the forward was dropped, or if parameters,
    /// inputs or outputs that the backward reads were written to since the forward.
    Result<Replayed> backward(std::uint64_t number, std::vector<at::Tensor> output_gradients);
    /// Runs the next part of the backward. The first call takes the gradients of the outputs, later calls
    /// take an empty list. The executor does not keep the gradients that it returns.
    Result<BackwardPartDone> backward_part(std::uint64_t number,
                                           std::vector<at::Tensor> output_gradients = {});
    /// Returns, for each part in order, the positions in Tape::gradients of the gradients that the part
    /// returns.
    Result<std::vector<std::vector<int>>> parts_of(std::span<const Step> steps, const Homes& homes = {});

    /// `rewind` undoes an open forward, so that the original can run the forward again. It frees the tensors
    /// of the forward. It sets the generator and the buffers that ops read to their state before the forward.
    /// `restore` must be called after the original's run; see `OpenForward::restore`.
    Result<void> rewind(std::uint64_t number);
    void restore(std::uint64_t number);

    /// Returns the present state of the generator and of all tensors that the step writes to, except
    /// parameters that the step's optimizer updates.
    std::unique_ptr<Snapshot> snapshot() const;
    /// Says whether some op of the step draws random numbers.
    bool draws() const;

    /// Drops a forward whose backward will not run.
    void drop(std::uint64_t number);
    std::size_t open() const;  ///< number of forwards whose backward has not run
    /// Says whether the backward of the last forward will update buffers. If so, no other forward may run
    /// before this backward.
    bool moves_buffers_late() const;

    /// Replaces the bound tensors by these; see BoundModel::rebind.
    Result<void> rebind(const std::vector<at::Tensor>& tensors);
    Result<void> rebind_states(std::vector<at::Tensor> tensors);

    /// Returns the positions of the outputs whose gradients `backward` needs; none if the graph has its own
    /// loss.
    std::vector<int> differentiable_outputs() const;

    const Tape& tape() const;
    /// Returns the tape, so that the caller can change argument values of ops between steps. The ops and
    /// their operands must not change.
    Tape& change_values();
    /// Returns the tensors that the step's optimizer keeps, in the order of Tape::states.
    const std::vector<at::Tensor>& states() const;

    /// The largest number of parts of a backward.
    static constexpr std::size_t most_parts = 32;

  private:
    struct State;
    explicit Executor(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rematlas
