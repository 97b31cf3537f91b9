#include "core/graph/graph.h"

#include <algorithm>
#include <array>

namespace rematlas {
namespace {

constexpr std::array<std::string_view, 7> kKindNames = {
    "parameter", "buffer", "input", "constant", "activation", "gradient", "optimizer_state"};
constexpr std::array<std::string_view, 4> kPhaseNames = {"forward", "loss", "backward", "optimizer"};
constexpr std::int64_t kLargestSum = std::int64_t{1} << 62;   // bytes
constexpr std::int64_t kLongestStep = std::int64_t{1} << 52;  // ns, 52 days; the sum of 1000 such steps does
                                                              // not overflow

template <class Enum, std::size_t N>
std::optional<Enum> enum_from(std::string_view text, const std::array<std::string_view, N>& names) {
    for (std::size_t i = 0; i < N; ++i) {
        if (names[i] == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

std::string op_label(const Graph& graph, OpId id) {
    return "op " + std::to_string(id.value) + " (" + graph.ops[id].name + ")";
}

std::string tensor_label(const Graph& graph, TensorId id) {
    return "tensor " + std::to_string(id.value) + " (" + graph.tensors[id].name + ")";
}

/// Checks one graph, rule by rule, and reports the first violated rule.
class Validation {
  public:
    explicit Validation(const Graph& graph)
        : graph_(graph), producer_(graph.tensors.size()), mark_(graph.tensors.size(), -1) {}

    Result<void> run() {
        if (graph_.ops.empty()) return Error{"graph has no ops"};
        for (auto rule :
             {&Validation::amounts, &Validation::ids_and_producers, &Validation::order,
              &Validation::inplace_pairs, &Validation::results, &Validation::boundary, &Validation::blocks}) {
            if (Result<void> kept = (this->*rule)(); !kept) return kept;
        }
        return {};
    }

  private:
    Result<void> amounts() {
        std::int64_t bytes = 0;
        std::int64_t time = 0, host_time = 0;
        for (TensorId id : graph_.tensors.ids()) {
            const std::int64_t size = graph_.tensors[id].bytes.value;
            if (size < 0) return Error{tensor_label(graph_, id) + " has negative bytes"};
            if (size >= kLargestSum - bytes) return Error{"tensors: the sum of their bytes is too large"};
            bytes += size;
        }
        for (OpId id : graph_.ops.ids()) {
            const Op& op = graph_.ops[id];
            if (op.time.value < 0) return Error{op_label(graph_, id) + " has a negative time"};
            if (op.workspace.value < 0) return Error{op_label(graph_, id) + " has a negative workspace"};
            if (Result<void> kept = collective(id); !kept) return kept;
            if (op.time.value >= kLongestStep - time)
                return Error{"ops: the sum of their times is too large"};
            if (op.workspace.value >= kLargestSum - bytes)
                return Error{op_label(graph_, id) + " has too large a workspace"};
            time += op.time.value;
            if (!op.host_time) continue;
            if (op.phase != Phase::optimizer)
                return Error{op_label(graph_, id) + " has a time on the host, but is not of phase optimizer"};
            if (op.host_time->value < 0)
                return Error{op_label(graph_, id) + " has a negative time on the host"};
            if (op.host_time->value >= kLongestStep - host_time)
                return Error{"ops: the sum of their times on the host is too large"};
            host_time += op.host_time->value;
        }
        return {};
    }

    Result<void> collective(OpId id) const {
        const Op& op = graph_.ops[id];
        if (!op.collective) return {};
        if (op.collective->queue.empty()) return Error{op_label(graph_, id) + ": its queue has no name"};
        if (op.collective->wire.value < 0 || op.collective->wire.value >= kLargestSum)
            return Error{op_label(graph_, id) + " has a wrong number of bytes over the wire"};
        if (op.workspace.value != 0)
            return Error{op_label(graph_, id) +
                         " has a queue and a workspace: count the workspace as an output instead"};
        if (!op.mutates.empty())
            return Error{op_label(graph_, id) + " has a queue and mutates residents, which is not possible"};
        return {};
    }

    /// Checks that the list names existing tensors, each once. For each tensor, `mark_` has the number of the
    /// last list that named the tensor.
    Result<void> listed_once(OpId id, const std::vector<TensorId>& list, const char* field, int pass) {
        for (TensorId t : list) {
            if (!graph_.tensors.contains(t)) {
                return Error{op_label(graph_, id) + ": " + field + " names tensor " +
                             std::to_string(t.value) + ", which does not exist"};
            }
            const int mark = id.value * 3 + pass;
            if (mark_[t] == mark)
                return Error{op_label(graph_, id) + ": " + field + " names " + tensor_label(graph_, t) +
                             " twice"};
            mark_[t] = mark;
        }
        return {};
    }

    Result<void> ids_and_producers() {
        for (OpId id : graph_.ops.ids()) {
            const Op& op = graph_.ops[id];
            if (auto kept = listed_once(id, op.inputs, "inputs", 0); !kept) return kept;
            if (auto kept = listed_once(id, op.mutates, "mutates", 1); !kept) return kept;
            if (auto kept = listed_once(id, op.outputs, "outputs", 2); !kept) return kept;
            for (TensorId t : op.outputs) {
                if (producer_[t].valid()) {
                    return Error{tensor_label(graph_, t) + " is made by op " +
                                 std::to_string(producer_[t].value) + " and by op " +
                                 std::to_string(id.value)};
                }
                producer_[t] = id;
            }
            if (op.of && !graph_.ops.contains(*op.of))
                return Error{op_label(graph_, id) + ": 'of' names an op that does not exist"};
        }
        return {};
    }

    Result<void> order() {
        for (OpId id : graph_.ops.ids()) {
            for (TensorId t : graph_.ops[id].inputs) {
                if (!producer_[t].valid() || producer_[t] < id) continue;
                if (producer_[t] == id)
                    return Error{op_label(graph_, id) + " reads its own output, " + tensor_label(graph_, t) +
                                 ": a cycle"};
                return Error{op_label(graph_, id) + " reads " + tensor_label(graph_, t) + " before op " +
                             std::to_string(producer_[t].value) + " makes it: a cycle or a wrong order"};
            }
            for (TensorId t : graph_.ops[id].mutates) {
                if (producer_[t].valid())
                    return Error{op_label(graph_, id) + ": mutates " + tensor_label(graph_, t) +
                                 ", which is not resident"};
            }
        }
        return {};
    }

    Result<void> inplace_pairs() {
        for (OpId id : graph_.ops.ids()) {
            const Op& op = graph_.ops[id];
            std::vector<TensorId> seen;
            for (const InplacePair& pair : op.inplace) {
                const bool known =
                    std::find(op.outputs.begin(), op.outputs.end(), pair.out) != op.outputs.end() &&
                    std::find(op.inputs.begin(), op.inputs.end(), pair.in) != op.inputs.end();
                if (!known)
                    return Error{op_label(graph_, id) +
                                 ": 'inplace' is no pair of one of its outputs and one of its inputs"};
                for (TensorId t : {pair.out, pair.in}) {
                    if (std::find(seen.begin(), seen.end(), t) != seen.end()) {
                        return Error{op_label(graph_, id) + ": 'inplace' names " + tensor_label(graph_, t) +
                                     " twice"};
                    }
                    seen.push_back(t);
                }
            }
        }
        return {};
    }

    Result<void> results() {
        IdVector<TensorId, char> seen(graph_.tensors.size(), 0);
        for (TensorId t : graph_.results) {
            if (!graph_.tensors.contains(t))
                return Error{"results names tensor " + std::to_string(t.value) + ", which does not exist"};
            if (seen[t]) return Error{"results names " + tensor_label(graph_, t) + " twice"};
            seen[t] = 1;
        }
        return {};
    }

    Result<void> boundary() {
        if (!graph_.boundary) return {};
        if (!graph_.ops.contains(*graph_.boundary))
            return Error{"boundary names op " + std::to_string(graph_.boundary->value) +
                         ", which does not exist"};
        const Op& op = graph_.ops[*graph_.boundary];
        if (op.phase == Phase::loss && !op.recomputable) return {};
        return Error{"boundary names " + op_label(graph_, *graph_.boundary) +
                     ", which is no op of phase loss that runs once"};
    }

    Result<void> blocks() {
        IdVector<OpId, char> covered(graph_.ops.size(), 0);
        for (BlockId id : graph_.blocks.ids()) {
            const Block& block = graph_.blocks[id];
            const std::string label = "block " + std::to_string(id.value) + " (" + block.name + ")";
            // A parent comes before its children, so every chain of parents ends.
            if (block.parent.valid() && block.parent >= id)
                return Error{label + ": its parent does not come before it"};
            if (block.twin.valid() && !graph_.blocks.contains(block.twin))
                return Error{label + ": its twin does not exist"};
            for (BlockId child : block.children) {
                if (!graph_.blocks.contains(child) || graph_.blocks[child].parent != id)
                    return Error{label + ": a child does not name it as its parent"};
            }
            for (OpId op : block.ops) {
                if (!graph_.ops.contains(op))
                    return Error{label + " names op " + std::to_string(op.value) + ", which does not exist"};
                if (covered[op]++)
                    return Error{label + " names op " + std::to_string(op.value) +
                                 ", which is in another block or twice in it"};
            }
        }
        if (graph_.blocks.empty()) return {};
        for (OpId op : graph_.ops.ids()) {
            if (!covered[op]) return Error{"blocks: " + op_label(graph_, op) + " is in none"};
        }
        return {};
    }

    const Graph& graph_;
    IdVector<TensorId, OpId> producer_;
    IdVector<TensorId, int> mark_;
};

}  // namespace

std::string_view to_string(TensorKind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}
std::string_view to_string(Phase phase) {
    return kPhaseNames[static_cast<std::size_t>(phase)];
}

std::string to_string(const TensorLayout& layout) {
    const auto joined = [](const std::vector<std::int64_t>& sizes) {
        std::string text;
        for (std::int64_t size : sizes) text += (text.empty() ? "" : ",") + std::to_string(size);
        return text;
    };
    const std::string strides =
        layout.strides.empty() ? "" : " with strides (" + joined(layout.strides) + ")";
    return layout.dtype + "[" + joined(layout.shape) + "]" + strides;
}

std::optional<TensorKind> tensor_kind_from(std::string_view text) {
    return enum_from<TensorKind>(text, kKindNames);
}
std::optional<Phase> phase_from(std::string_view text) {
    return enum_from<Phase>(text, kPhaseNames);
}

Result<void> validate(const Graph& graph) {
    return Validation(graph).run();
}

Queues queues_of(const Graph& graph) {
    Queues queues;
    queues.of = IdVector<OpId, int>(graph.ops.size(), -1);
    for (OpId id : graph.ops.ids()) {
        if (!graph.ops[id].collective) continue;
        const std::string& name = graph.ops[id].collective->queue;
        const auto known = std::find(queues.names.begin(), queues.names.end(), name);
        queues.of[id] = static_cast<int>(known - queues.names.begin());
        if (known == queues.names.end()) queues.names.push_back(name);
    }
    return queues;
}

Nanoseconds base_time(const Graph& graph) {
    const Queues queues = queues_of(graph);
    std::vector<Nanoseconds> sums(queues.names.size() + 1);
    for (OpId id : graph.ops.ids()) sums[static_cast<std::size_t>(queues.of[id] + 1)] += graph.ops[id].time;
    return *std::max_element(sums.begin(), sums.end());
}

IdVector<TensorId, OpId> producers(const Graph& graph) {
    IdVector<TensorId, OpId> made_by(graph.tensors.size());
    for (OpId op : graph.ops.ids()) {
        for (TensorId t : graph.ops[op].outputs) made_by[t] = op;
    }
    return made_by;
}

}  // namespace rematlas
