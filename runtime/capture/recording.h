// A recorded step as the recorder sees it, before dead ops are dropped and ids are made dense.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/replay/tape.h"

namespace rematlas {

/// One storage at one version. Ids of values and ops are their indices in the recording. `Operand::tensor`
/// is the id of a value, or invalid if only a shape is meant.
struct RecordedValue {
    TensorKind kind = TensorKind::activation;
    std::string name;
    std::int64_t bytes = 0;
    int producer = -1;             ///< the op that made it, or -1
    int version_of = -1;           ///< the value that the producer overwrote, or -1
    bool depends_on_data = false;  ///< depends on parameters, buffers, inputs or random numbers
    std::string contents;          ///< bytes of a constant
    std::optional<TensorLayout> layout =
        {};  ///< layout of the tensor that the op makes; for a resident, of the first tensor that was seen on
             ///< it
};

struct RecordedOp {
    TapeOp tape;
    Phase phase = Phase::forward;
    std::string module;
    std::string source;  ///< line of the model that calls the op; for a backward op, the line of its forward
                         ///< op
    int of = -1;         ///< the forward op of a backward one
    bool random = false;
    bool updates_statistics =
        false;                   ///< its outputs do not depend on the overwritten tensor: it may run again
                                 ///< without it
    bool guards_sizes = false;   ///< the shape of its result depends on the data
    bool dropped = false;        ///< its output was found to be a constant
    std::int64_t time = 0;       ///< nanoseconds; in measured steps
    std::int64_t workspace = 0;  ///< bytes held only while it ran; in measured steps
};

struct Recording {
    std::vector<Operand> operands;
    std::vector<RecordedValue> values;
    std::vector<RecordedOp> ops;
    std::vector<Binding> bindings;
    std::vector<std::pair<InputSpec, int>> inputs;  ///< each with its operand
    std::vector<int> outputs;                       ///< operands
    /// Per output: whether somebody holds it when the backward begins; empty where nobody knows.
    std::vector<bool> outputs_held;
    std::vector<GradientOf> gradients;
    std::map<std::string, std::string> module_classes;  ///< classes of modules that call ops themselves, by
                                                        ///< path
};

/// The first difference between two recordings of a step, as one line that names the op; nothing if they
/// are equal except for measurements.
std::optional<std::string> difference(const Recording& a, const Recording& b);

}  // namespace rematlas
