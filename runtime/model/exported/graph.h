// The forward pass of a torch.export archive: calls of ops on numbered values, before autograd.
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

/// An input of a node: a constant of the file, the value of an earlier node, or a list of both.
struct NodeInput {
    c10::IValue constant = {};
    int value = no_value;
    std::optional<std::vector<NodeInput>> elements = {};
};

struct ForwardGraph;

/// An op of PyTorch's dispatcher. Arguments are those of the schema, in order, defaults included.
struct DispatchedCall {
    c10::OperatorHandle op;
};
/// Arithmetic on sizes, and functions that ask a tensor for its sizes.
struct NumberCall {
    NumberFunction function;
};
/// A part of the program that runs with other settings of autograd or autocast, or with the same ones.
struct RegionCall {
    struct Autocast {
        c10::DeviceType device;
        std::optional<c10::ScalarType> dtype;
        bool enabled, caches;
    };
    std::shared_ptr<const ForwardGraph> body;
    std::optional<bool> gradients = {};  ///< whether autograd records
    std::optional<Autocast> autocast = {};
};
/// A condition that the exporter relied on. The first argument of the call is the truth value.
struct ConditionCall {
    std::string message;
};
/// A condition on the type of a tensor, which is the first argument of the call.
struct TypeCall {
    c10::ScalarType dtype;
};

struct Node {
    std::string name;  ///< name of the op, for messages
    std::variant<ConditionCall, TypeCall, NumberCall, RegionCall, DispatchedCall> call = {};
    std::vector<NodeInput> arguments = {};
    /// One entry for each result of the call; an entry has one value for each element of a list.
    std::vector<std::vector<int>> results = {};
    std::vector<int> last_used = {};  ///< values that no later node reads
    ModuleName module = {};           ///< the innermost module from which the node comes
    std::string line = {};            ///< line of the model's source
};

struct ForwardGraph {
    int value_count = 0;
    std::vector<int> inputs;  ///< `no_value`: the graph does not read this input
    std::vector<Node> nodes;
    std::vector<NodeInput> outputs;
};

}  // namespace rematlas::exported
