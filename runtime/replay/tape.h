// The tape: the facts about a captured step that replay needs in addition to the graph. It is stored in
// `Graph::replay`.
//
// tape.ops[i] belongs to op i of the graph. An operand is a tensor with a geometry, so two views of a tensor
// are two operands. Each op names its arguments, the tensors that its kernel makes, and the tensors that the
// kernel overwrites.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/costs/roofline.h"
#include "core/graph/graph.h"
#include "runtime/model/input_spec.h"
#include "runtime/model/optimizer.h"
#include "runtime/model/training_step.h"

namespace rematlas {

/// A tensor of the graph with a geometry: sizes, strides and an offset in its storage.
struct Operand {
    TensorId tensor;  ///< invalid if the op reads only the shape and the type
    c10::ScalarType dtype = c10::ScalarType::Float;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0;      ///< in elements
    bool wrapped_number = false;  ///< whether the tensor stands for a number, and promotes types as a number
                                  ///< does
    bool conjugated = false;      ///< whether the kernel reads the conjugate of the stored values
    bool negated = false;         ///< whether the kernel reads the negative of the stored values
    bool on_host = false;         ///< whether the tensor is in host memory although the step runs on another
                                  ///< device
    bool operator==(const Operand&) const = default;
};

/// Says whether the operand has these strides. The stride of an axis with one element is ignored.
bool lies_as(const Operand& operand, c10::IntArrayRef strides);

constexpr std::int64_t most_host_draws = std::int64_t{1} << 30;  ///< the most draws from the host's generator
                                                                 ///< that a file may give in TapeOp::draws
constexpr int no_operand = -1;                                   ///< an undefined tensor, or None in a list

/// An argument of an op: a value, or indices of operands in Tape::operands.
struct Argument {
    enum class Kind : std::uint8_t { value, tensor, tensors, optional_tensors };
    Kind kind = Kind::value;
    c10::IValue value;
    std::vector<int> operands;
};

/// The kernel writes over `before`; the new contents are the tensor `after`. If `after` is invalid, the first
/// run updates the resident tensor, and later runs are not given the tensor.
struct Overwrite {
    TensorId before;
    TensorId after;
};

/// Guards an op whose result the program reads as a number and may use for a decision: the value must be the
/// same as in the capture.
struct Guard {
    c10::IValue value;
    std::string line;  ///< line of the model's source; may be empty
};

struct Geometry {
    std::vector<std::int64_t> sizes, strides;
};

struct TapeOp {
    std::string name;      ///< e.g. aten::add
    std::string overload;  ///< e.g. Tensor, out; may be empty
    std::vector<Argument> arguments;
    std::vector<TensorId>
        returns;  ///< per returned tensor, with lists flattened: the graph's tensor that it becomes, or
                  ///< invalid
    std::vector<Overwrite> overwrites;
    std::optional<std::int64_t>
        draws;  ///< for a random op: how far it advances the generator, if that number is known and fixed; a
                ///< negative number counts draws from the host's generator, in a step on another device
    std::optional<Guard> guard = {};
    std::vector<std::vector<std::int64_t>>
        result_sizes;                ///< per returned tensor: its captured sizes, if they depend on the data
    bool grad_mode = false;          ///< whether gradients were enabled; if so, some kernels keep more for
                                     ///< the backward
    std::vector<int> counters = {};  ///< operands with one number each, to which 1 is added before the kernel
                                     ///< runs
    int skips = no_operand;          ///< operand with one number; if it is 1, the kernel does nothing and the
                                     ///< counters do not change
    /// In a step that was recorded from shapes in this process: the layout that each returned tensor must
    /// have in memory. Files do not contain this field.
    std::vector<Geometry> expected = {};
    /// In an op with the name `recorded_update_op`: the ATen calls that the op stands for, in order. The op's
    /// time is computed from them. Files do not contain this field.
    std::vector<OpCall> stands_for = {};
};

/// A parameter or buffer of the model.
struct Binding {
    std::string name;
    bool is_parameter = false;
    Operand operand;
};

/// The gradient of a parameter or of an input. `operand` is `no_operand` if the outputs do not depend on the
/// parameter or input, or if the step's own optimizer uses the gradient up.
struct GradientOf {
    std::string parameter;
    int operand = no_operand;
    int input = -1;  ///< position in Tape::inputs; -1 for a parameter
};

/// A tensor of the step's optimizer: a state of a parameter, which the optimizer keeps from step to step, or
/// a number that the optimizer is given, such as the learning rate.
struct StateTensor {
    std::string name;  ///< e.g. layer.weight.exp_avg, lr
    Operand operand;
    double initial = 0;  ///< value that the tensor is filled with at first
};

/// The new contents of a buffer, which are copied to the buffer at the end of the forward or of the step.
struct BufferUpdate {
    TensorId buffer;
    TensorId contents;
    TensorId of_forward = {};  ///< the contents at the end of the forward, if the backward changes the buffer
                               ///< again, as a checkpoint in the model does
};

struct Tape {
    std::vector<Operand> operands;
    IdVector<OpId, TapeOp> ops;
    std::vector<Binding> bindings;
    std::vector<std::pair<InputSpec, int>> inputs;  ///< inputs, in the order in which they are passed, each
                                                    ///< with its operand
    std::vector<FixedInput> fixed;  ///< arguments of the model that are not tensors, by position
    std::vector<std::pair<TensorId, std::string>> constants;  ///< constant tensors, each with the bytes of
                                                              ///< its storage
    std::vector<int> outputs;                                 ///< operands of the model's outputs
    std::vector<int> unused_outputs;  ///< positions of outputs that have a history but that the recorded loss
                                      ///< did not use
    std::vector<GradientOf> gradients;
    std::vector<BufferUpdate> updates;
    std::optional<Optimizer> optimizer;  ///< the optimizer whose updates are ops of the step
    std::vector<StateTensor> states;
    std::string packing;  ///< how a Python module packs its outputs; only Python reads it
    Loss loss = Loss::output;
    int threads = 1;
};

/// The name of the op that stands for the caller's loss: it takes the outputs and makes their gradients.
constexpr std::string_view output_gradients_op = "rematlas::output_gradients";

/// The name of an op that stands for a recorded part of an optimizer's step (capture/recorded_update_ops.h).
/// A step with such an op is for planning only.
constexpr std::string_view recorded_update_op = "rematlas::recorded_update";

nlohmann::json to_json(const Tape& tape);

/// Fails if a field is wrong. The error is one line that begins with `name` and says what is wrong. `tensors`
/// and `ops` are the graph's counts.
Result<Tape> tape_from_json(const nlohmann::json& json, std::string_view name, std::size_t tensors,
                            std::size_t ops);

/// Returns the tape that is stored in a graph. Fails if the graph was not captured, or if it is for planning
/// only. The error is one line that begins with the graph's name.
Result<Tape> tape_of(const Graph& graph);

}  // namespace rematlas
