// A recorded step as the recorder sees it, before dead ops are dropped and ids are renumbered without gaps.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// A value is one storage at one version. Ids of values and ops are their indices in the recording.
/// `Operand::tensor` is the id of a value, or invalid if the op reads only the shape.
struct RecordedValue {
    TensorKind kind = TensorKind::activation;
    std::string name;
    std::int64_t bytes = 0;
    int producer = -1;             ///< the op that made the value; -1 if no op did
    int version_of = -1;           ///< the value that the producer overwrote; -1 if none
    bool depends_on_data = false;  ///< depends on parameters, buffers, inputs or random numbers
    std::string contents;          ///< if the value is a constant, its bytes
    std::optional<TensorLayout> layout =
        {};  ///< layout of the tensor that the op makes; for a resident, layout of the first tensor that was
             ///< seen on the storage
};

struct RecordedOp {
    TapeOp tape;
    Phase phase = Phase::forward;
    std::string module;
    std::string source;  ///< the model's line that calls the op; for a backward op, the line of its forward
                         ///< op
    int of = -1;         ///< for a backward op, its forward op
    bool random = false;
    bool updates_statistics =
        false;                   ///< the op overwrites statistics on which its outputs do not depend, so it
                                 ///< can run again without them
    bool guards_sizes = false;   ///< the shape of the op's result depends on the data
    bool dropped = false;        ///< the op is left out, because its output was found to be a constant
    std::int64_t time = 0;       ///< nanoseconds; set in measured steps
    std::int64_t workspace = 0;  ///< bytes held only while the op ran; set in measured steps
};

struct Recording {
    std::vector<Operand> operands;
    std::vector<RecordedValue> values;
    std::vector<RecordedOp> ops;
    std::vector<Binding> bindings;
    std::vector<std::pair<InputSpec, int>> inputs;  ///< the spec and the operand of each input
    std::vector<int> outputs;                       ///< the operand of each output
    /// Per output: whether somebody holds it when the backward begins; empty if that is not known.
    std::vector<bool> outputs_held;
    std::vector<GradientOf> gradients;
    std::map<std::string, std::string> module_classes;  ///< by module path: the classes of modules that call
                                                        ///< ops themselves
};

/// Returns the first difference between two recordings of a step as one line that names the op, or nullopt if
/// they differ at most in measurements.
std::optional<std::string> difference(const Recording& a, const Recording& b);

}  // namespace rematlas
