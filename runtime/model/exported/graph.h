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

/// What a node is given: a constant of the file, the value of an earlier node, or a list of both.
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
/// Arithmetic on sizes, and what asks a tensor for them.
struct NumberCall {
    NumberFunction function;
};
/// A part of the program that runs with other settings of autograd or autocast, or as it is.
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
/// A condition that the exporter relied on. The first argument is a truth value.
struct ConditionCall {
    std::string message;
};
/// The first argument is a tensor of this type.
struct TypeCall {
    c10::ScalarType dtype;
};

struct Node {
    std::string name;  ///< of the op, for messages
    std::variant<ConditionCall, TypeCall, NumberCall, RegionCall, DispatchedCall> call = {};
    std::vector<NodeInput> arguments = {};
    /// One entry for each result of the call, and in it one value for each element of a list.
    std::vector<std::vector<int>> results = {};
    std::vector<int> last_used = {};  ///< values that no later node reads
    ModuleName module = {};           ///< the innermost one that the node comes from
    std::string line = {};            ///< of the model's source
};

struct ForwardGraph {
    int value_count = 0;
    std::vector<int> inputs;  ///< `no_value`: what is given there is not read
    std::vector<Node> nodes;
    std::vector<NodeInput> outputs;
};

}  // namespace rematlas::exported
