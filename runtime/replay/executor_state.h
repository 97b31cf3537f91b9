// What an Executor keeps, and how a step runs: shared by the sources of the executor alone.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <chrono>

#include "runtime/replay/executor.h"
#include "runtime/replay/operand_table.h"

namespace rematlas {

/// For errors: its number, its name and its module.
std::string label(const Graph& graph, OpId op);

/// Lies as the operand does; of an axis with one element the stride says nothing.
bool lies_as(const at::Tensor& tensor, const Operand& operand);

/// An op with its kernel looked up and its stack laid out.
struct PreparedOp {
    std::optional<c10::OperatorHandle> handle;  ///< none for rematlas::output_gradients
    torch::jit::Stack stack;
    std::vector<std::size_t> lists;  ///< positions that are copied for each run, for kernels may change them
    std::vector<std::size_t> statistics;  ///< positions that only the first run is given
    int turn = -1;  ///< of a random op: its place among all of them, in the captured order
};

/// The executor's own view of an op while a step runs.
struct OpProgress {
    int runs = 0;
    std::unique_ptr<GeneratorState> generator;  ///< as it was before the op's turn, when that is needed later
};

/// Where a kernel writes that writes over one of its inputs.
enum class Writes { into_the_tensor, into_a_copy };

/// A parameter or buffer of the caller's. The executor holds its storage, which the caller may exchange
/// between steps.
struct BoundTensor {
    at::Tensor tensor;
    std::size_t binding;  ///< of the tape
};

/// Something of the caller's that must not be written to between the halves of a step.
struct Watched {
    c10::VariableVersion version;  ///< alone: the tensor of an output leads back here through its history
    std::uint32_t seen;
    std::string what;
};

/// Kernels are called as they were recorded: the casts of an autocast region are ops of the graph.
struct BelowAutograd {
    at::AutoDispatchBelowADInplaceOrView below;
    at::NoGradGuard no_grad;
    c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

/// Steps that the device holds as recorded work, and where each submission finds and leaves its tensors.
struct RecordedSteps {
    std::unique_ptr<RecordedWork> work;
    std::vector<at::Tensor> inputs, output_gradients;
    std::vector<at::Tensor> outputs, gradients;
    std::vector<const void*> bound;  ///< addresses of parameters and buffers
    std::int64_t draws = 0;          ///< how far a step moves the generator
    Bytes peak;
};

using Clock = std::chrono::steady_clock;

struct Executor::State {
    const Graph& graph;
    Tape tape;
    DeviceRuntime& device;
    OperandTable operands;
    IdVector<OpId, PreparedOp> ops;
    std::vector<OpId> random_ops;
    IdVector<TensorId, std::uint8_t> resident;
    std::int64_t resident_bytes = 0;
    std::vector<BoundTensor> bound;
    std::string owner;  ///< of what is bound, for errors
    OpId loss;          ///< asks for the gradients of the outputs; invalid where the graph has its own loss
    int forward_random = 0;  ///< random ops that come before the loss in the captured order

    // Of the step that runs.
    std::vector<Step> steps;
    std::size_t at = 0;  ///< the step that runs next
    ReplayOptions options;
    Replayed result;
    std::int64_t outside = 0;  ///< bytes alive that are none of the step's
    std::int64_t highest = 0;  ///< bytes
    IdVector<OpId, OpProgress> progress;
    IdVector<OpId, int> runs_planned;
    int next_turn = 0;                 ///< the generator stands before this random op's turn
    std::vector<c10::Storage> copies;  ///< that the kernel of the op writes to
    torch::jit::Stack stack;

    std::unique_ptr<Marks> marks;  ///< before each step, when ops are timed
    std::unique_ptr<RecordedSteps> recorded;
    bool recording = false;

    // Between the halves of a step.
    std::uint64_t number = 0;  ///< of the last forward
    bool waiting = false;      ///< for its backward
    std::size_t loss_step = 0;
    std::int64_t held = 0;  ///< bytes of the step's at the end of the forward
    bool buffers_updated = false;
    std::vector<std::pair<TensorId, c10::Storage>> moved;  ///< the caller's storages of buffers whose old
                                                           ///< contents lie elsewhere
    std::vector<Watched> watched;
    std::vector<at::Tensor> given;  ///< gradients of outputs

    std::unique_ptr<StepMemory> memory;  ///< of steps that run in an arena
    std::vector<Step> memory_steps;      ///< it was begun for these
    std::uint64_t memory_key = 0;
    bool in_memory = false;  ///< the step that runs does

    State(const Graph& g, Tape t, DeviceRuntime& d)
        : graph(g),
          tape(std::move(t)),
          device(d),
          operands(tape.operands, g.tensors.size(), d.device()),
          resident(g.tensors.size(), 1) {
        for (const Op& op : graph.ops)
            for (TensorId out : op.outputs) resident[out] = 0;
        for (TensorId tensor : graph.tensors.ids())
            if (resident[tensor]) resident_bytes += graph.tensors[tensor].bytes.value;
        for (OpId op : graph.ops.ids())
            if (tape.ops[op].name == output_gradients_op) loss = op;
    }

    Result<void> check_device() const;
    Result<void> check_geometry() const;
    Result<void> check_bound(const BoundTensor& bound) const;
    Result<void> bind(const std::vector<NamedTensor>& tensors);
    Result<void> bind_again();
    Result<void> place_constants();
    Result<void> prepare();
    PreparedOp prepare(OpId op);
    bool updates_for_good(const TapeOp& op, int operand) const;
    Result<void> feed(const std::vector<at::Tensor>& inputs);
    Result<void> begin(std::span<const Step> steps, const std::vector<at::Tensor>& inputs,
                       const ReplayOptions& options);
    Result<void> plan();
    void move_counters_first();
    Result<void> plan_halves();
    bool reads_later(TensorId tensor) const;
    void watch(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs);
    Result<void> check_watched() const;
    std::int64_t take_given(std::vector<at::Tensor> gradients);
    Writes writes(const Overwrite& overwrite, bool in_place) const;
    void begin_overwrites(OpId op, bool in_place);
    void end_overwrites(OpId op, bool in_place);
    void run_op(OpId op, bool in_place);
    std::unique_ptr<GeneratorState> turn_generator(OpId op);
    void skip_turn();
    void give_output_gradients(OpId op);
    void take_returns(OpId op);
    void run_step(const Step& step);
    void begin_memory();
    void end_memory();
    void run_timed(const Step& step);
    void read_marks();
    std::int64_t draws_before(int turn) const;
    Result<void> record();
    Result<void> check_recorded(const std::vector<at::Tensor>& inputs);
    void update_buffers();
    std::vector<at::Tensor> outputs() const;
    std::vector<at::Tensor> gradients() const;
    template <class Work>
    Result<void> play(std::size_t end, Work&& then);
    Replayed end(Clock::duration time);
    void drop_all();
};

/// Runs the steps up to `end`, then `then`. After an error the step is forgotten.
template <class Work>
Result<void> Executor::State::play(std::size_t end, Work&& then) {
    BelowAutograd below;
    try {
        const StepMemory::Scope scope(in_memory ? memory.get() : nullptr);
        for (; at < end; ++at) options.time_ops ? run_timed(steps[at]) : run_step(steps[at]);
        then();
        return {};
    } catch (const std::exception& error) {
        waiting = false;
        drop_all();
        const std::string where = at < end && steps[at].runs() ? label(graph, steps[at].op()) + ": " : "";
        return Error{"step " + std::to_string(at) + ": " + where + one_line(error)};
    }
}

}  // namespace rematlas
