// The training graph: one training step as a flat list of ops on tensors.
//
// A graph is a value: plain vectors without back-pointers, which can be copied to another thread. `validate`
// defines which graphs are well-formed; every function that takes a Graph expects a well-formed one.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/graph/device.h"

namespace rematlas {

enum class TensorKind { parameter, buffer, input, constant, activation, gradient, optimizer_state };
enum class Phase { forward, loss, backward, optimizer };

std::string_view to_string(TensorKind kind);
std::string_view to_string(Phase phase);
std::optional<TensorKind> tensor_kind_from(std::string_view text);
std::optional<Phase> phase_from(std::string_view text);

/// The data type and the shape with which a tensor is made.
struct TensorLayout {
    /// f32, bf16, i64, ..., or torch's name of a type without a short name.
    std::string dtype;
    std::vector<std::int64_t> shape = {};    ///< in elements; empty: a scalar
    std::vector<std::int64_t> strides = {};  ///< in elements; empty: contiguous

    bool operator==(const TensorLayout&) const = default;
};

/// Returns "f32[8,3,224,224]", followed by " with strides (1,8)" if the layout has strides.
std::string to_string(const TensorLayout& layout);

/// One storage at one version. A view is not a tensor of its own.
struct Tensor {
    std::string name;
    Bytes bytes;
    TensorKind kind = TensorKind::activation;
    /// Only shown to users: nothing is computed from the layout.
    std::optional<TensorLayout> layout = {};
};

/// The kernel can write `out` into the storage of `in`. Only a `run_inplace` step does so.
struct InplacePair {
    TensorId out;
    TensorId in;
};

/// A collective op runs at the same time as the device's compute, in the queue of its group of ranks.
struct Collective {
    std::string queue;  ///< name of the queue, e.g. fsdp; collectives of one queue run one after the other
    Bytes wire = {};    ///< bytes that this rank sends in one run

    bool operator==(const Collective&) const = default;
};

/// One ATen operation of the step.
struct Op {
    std::string name;      ///< operator name, e.g. aten::convolution
    Nanoseconds time;      ///< time of one run, compute only
    Bytes workspace = {};  ///< held only while the op runs
    /// Tensors that must be on the device when the op runs. A graph read from a file has no duplicates here.
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
    Phase phase = Phase::forward;
    std::string module = {};  ///< module path, e.g. layer1.0.conv1; empty for the root
    /// Each `out` is one of `outputs`, each `in` one of `inputs`. No tensor occurs twice.
    std::vector<InplacePair> inplace = {};
    std::optional<OpId> of = {};  ///< the forward op that a backward op belongs to
    bool random = false;          ///< whether it uses a random generator
    /// Residents that the first run updates (for example running statistics).
    std::vector<TensorId> mutates = {};
    bool recomputable = true;  ///< false: runs exactly once
    std::optional<Nanoseconds> host_time =
        {};                   ///< time of a run on the host; empty if the op cannot run there. Only optimizer
                              ///< ops can have one
    std::string source = {};  ///< the line of the model that calls the op, e.g. model.py:41; empty: not known
    /// Set for a collective of several ranks that runs at the same time as compute.
    std::optional<Collective> collective = {};
};

/// A node of the hierarchy. A leaf holds ops directly. A block covers its own ops and the ops of its
/// children.
struct Block {
    std::string name;               ///< last part of the module path, or a generated name
    std::string path;               ///< full module path, or a path made from the structure
    BlockId parent;                 ///< invalid for a root
    std::vector<BlockId> children;  ///< in execution order
    std::vector<OpId> ops;          ///< its own ops, without the ops of its children
    /// The backward block of a forward block, or the forward block of a backward block; invalid if none.
    BlockId twin;
    int repeat_class = -1;  ///< equal blocks have the same class; -1 if the block is unique
};

struct Graph {
    std::string name;
    IdVector<TensorId, Tensor> tensors;
    IdVector<OpId, Op> ops;         ///< in a valid execution order
    std::vector<TensorId> results;  ///< tensors that must exist when the step ends
    /// The `loss` op between the forward program and the backward program of a compiled step. Each op runs at
    /// most once in each of the two programs. If the backward program has read the forward program's copy of
    /// a tensor, it does not make that tensor again.
    std::optional<OpId> boundary = {};
    IdVector<BlockId, Block> blocks;  ///< the hierarchy; may be empty
    std::optional<Device> device;
    std::map<std::string, std::string> module_classes = {};  ///< per module path: the module's class, e.g.
                                                             ///< Conv2d

    /// A JSON object of free form: model, inputs, device, versions.
    std::shared_ptr<const nlohmann::json> provenance;
    /// The runtime's data for replaying the ops, which core does not interpret.
    std::shared_ptr<const nlohmann::json> replay;
    /// Hex digest of the file's bytes (uncompressed). Set by reading and by writing.
    std::string sha256;
};

/// Checks every rule of the format: ids in range, an order that is executable, at most one op that makes a
/// tensor, no negative number, sums that are not too large (2^62 bytes, 2^52 ns), valid in-place pairs,
/// results that exist, a valid boundary, and a hierarchy that is a forest.
Result<void> validate(const Graph& graph);

/// The queues of a graph's collectives.
struct Queues {
    std::vector<std::string> names;  ///< in the order of the first op of each queue
    IdVector<OpId, int> of;          ///< per op: index in `names`; -1 for ops of the device's compute
};
Queues queues_of(const Graph& graph);

/// Returns the least time of the step without recomputation, to which overheads refer. It is the sum of the
/// times of the ops. If the graph has queues, it is the largest of several sums: one over the ops of each
/// queue, and one over the ops of compute.
Nanoseconds base_time(const Graph& graph);

/// Returns the op that makes each tensor; invalid for residents.
IdVector<TensorId, OpId> producers(const Graph& graph);

}  // namespace rematlas
