// Runs the forward pass of an exported program, op by op, as eager PyTorch would.
#pragma once

#include "runtime/model/exported/graph.h"

namespace rematlas::exported {

/// Returns the values of the graph's outputs. Each value is freed after the last node that reads it. While a
/// node runs, `current` points to it; after the last node `current` is null. Throws the exceptions of ops;
/// `current` then still points to the node that failed.
std::vector<c10::IValue> run_graph(const ForwardGraph& graph, std::vector<c10::IValue> inputs,
                                   const Node*& current);

}  // namespace rematlas::exported
