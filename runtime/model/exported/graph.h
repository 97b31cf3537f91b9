// The forward pass of a torch.export archive: calls of ops on numbered values, as the program makes them
// above autograd.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/model/exported/number_functions.h"
#include "runtime/model/places.h"

namespace rematlas::exported {

constexpr int no_value = -1;

/// An input of a node: a constant of the file, the value of an earlier node, or a list of such inputs.
struct NodeInput {
    c10::IValue constant = {};
    int value = no_value;
    std::optional<std::vector<NodeInput>> elements = {};
};

struct ForwardGraph;

/// A call of an op of PyTorch's dispatcher. The arguments are those of the op's schema, in order, including
/// defaults.
struct DispatchedCall {
    c10::OperatorHandle op;
};
/// A call of arithmetic on sizes, or of a function that asks a tensor for its sizes.
struct NumberCall {
    NumberFunction function;
};
/// A call of a part of the program that can have its own settings of autograd or autocast.
struct RegionCall {
    struct Autocast {
        c10::DeviceType device;
        std::optional<c10::ScalarType> dtype;
        bool enabled, caches;
    };
    std::shared_ptr<const ForwardGraph> body;
    std::optional<bool> gradients = {};  ///< whether autograd records; unset if the region does not change it
    std::optional<Autocast> autocast = {};
};
/// A check of a condition that the exporter relied on. The first argument is the truth value of the
/// condition.
struct ConditionCall {
    std::string message;
};
/// A check that a tensor, which is the first argument, has this dtype.
struct TypeCall {
    c10::ScalarType dtype;
};

struct Node {
    std::string name;  ///< name of the op, for messages
    std::variant<ConditionCall, TypeCall, NumberCall, RegionCall, DispatchedCall> call = {};
    std::vector<NodeInput> arguments = {};
    /// One entry for each result of the call. The entry has one value, or one value for each element if the
    /// result is a list.
    std::vector<std::vector<int>> results = {};
    std::vector<int> last_used = {};  ///< values that no later node reads
    ModuleName module = {};           ///< the innermost module from which the node comes
    std::string line = {};            ///< line of the model's source
};

struct ForwardGraph {
    int value_count = 0;
    std::vector<int> inputs;  ///< values of the inputs; `no_value` for an input that the graph does not read
    std::vector<Node> nodes;
    std::vector<NodeInput> outputs;
};

}  // namespace rematlas::exported
