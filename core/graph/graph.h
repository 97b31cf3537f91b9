// The training graph: one training step as a flat list of operations on tensors.
//
// A graph is a value: plain vectors, no back-pointers, copyable to another thread. `validate` states what a
// well-formed graph is; every function that takes a Graph expects one that passes it.
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

/// The type and the shape under which a tensor is made.
struct TensorLayout {
    std::string dtype;  ///< f32, bf16, i64, ... or torch's name of a type without a short one
    std::vector<std::int64_t> shape = {};    ///< in elements; empty: a scalar
    std::vector<std::int64_t> strides = {};  ///< in elements; empty: those of a contiguous tensor

    bool operator==(const TensorLayout&) const = default;
};

/// Returns "f32[8,3,224,224]", and " with strides (1,8)" behind it where the layout has some.
std::string to_string(const TensorLayout& layout);

/// One storage at one version. Views are not tensors.
struct Tensor {
    std::string name;
    Bytes bytes;
    TensorKind kind = TensorKind::activation;
    std::optional<TensorLayout> layout = {};  ///< for people: nothing is computed from the layout
};

/// The kernel can write `out` into the storage of `in`; only a `run_inplace` step does.
struct InplacePair {
    TensorId out;
    TensorId in;
};

/// One ATen operation of the step.
struct Op {
    std::string name;              ///< operator name, e.g. aten::convolution
    Nanoseconds time;              ///< of one run, compute only
    Bytes workspace = {};          ///< held only while it runs
    std::vector<TensorId> inputs;  ///< all on the device when it runs; no duplicates after reading
    std::vector<TensorId> outputs;
    Phase phase = Phase::forward;
    std::string module = {};                ///< module path, e.g. layer1.0.conv1; empty for the root
    std::vector<InplacePair> inplace = {};  ///< each out in outputs, each in in inputs, no tensor twice
    std::optional<OpId> of = {};            ///< the forward op that a backward op belongs to
    bool random = false;                    ///< draws from a generator
    std::vector<TensorId> mutates = {};  ///< resident tensors that the first run updates (running statistics)
    bool recomputable = true;            ///< false: runs exactly once
    std::optional<Nanoseconds> host_time =
        {};                   ///< of a run on the host; none: impossible. Optimizer ops only
    std::string source = {};  ///< the line of the model that calls the op, e.g. model.py:41; empty: not known
};

/// A node of the hierarchy. A leaf holds ops directly; a block covers its own ops and those of its children.
struct Block {
    std::string name;               ///< last part of the module path, or a generated one
    std::string path;               ///< full module path, or one made from the structure
    BlockId parent;                 ///< invalid for a root
    std::vector<BlockId> children;  ///< in execution order
    std::vector<OpId> ops;          ///< own ops, those of no child
    BlockId twin;           ///< the backward block of a forward block and the reverse; invalid if none
    int repeat_class = -1;  ///< equal blocks share a class; -1 when the block is unique
};

struct Graph {
    std::string name;
    IdVector<TensorId, Tensor> tensors;
    IdVector<OpId, Op> ops;         ///< a valid execution order
    std::vector<TensorId> results;  ///< on the device when the step ends
    /// The `loss` op between the forward program and the backward program of a compiled step. Each op runs
    /// once at most in either program, and a tensor of which the backward program has read the forward
    /// program's copy is not made again.
    std::optional<OpId> boundary = {};
    IdVector<BlockId, Block> blocks;  ///< optional: the hierarchy
    std::optional<Device> device;
    std::map<std::string, std::string> module_classes = {};  ///< e.g. Conv2d, by module path

    std::shared_ptr<const nlohmann::json> provenance;  ///< free-form object: model, inputs, device, versions
    std::shared_ptr<const nlohmann::json> replay;  ///< what the runtime needs to replay the ops; opaque here
    std::string sha256;  ///< hex digest of the file's bytes (uncompressed); set by reading and writing
};

/// Checks every rule of the format: ids in range, an order that is executable, at most one producer a tensor,
/// no negative number, sums that fit in 62 bits, in-place pairs that are pairs, results that exist, a
/// hierarchy that is a forest.
Result<void> validate(const Graph& graph);

/// The op that makes each tensor; invalid for residents.
IdVector<TensorId, OpId> producers(const Graph& graph);

}  // namespace rematlas
