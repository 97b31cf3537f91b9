// Calls on lists of tensors, such as _foreach_add_: each is as many calls on one tensor, bit by bit.
//
//     if (goes_item_by_item(op.schema()))
//         if (const auto items = calls_of_items(op, stack)) ...   // the arguments of each
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <vector>

namespace rematlas {

/// True if the operator's result for an item of its lists does not depend on the other items.
bool goes_item_by_item(const c10::FunctionSchema& schema);

/// Returns per item the same arguments with lists of one item. Returns nothing if there is one item only,
/// or if a different kernel may serve the whole lists than serves the items.
std::optional<std::vector<torch::jit::Stack>> calls_of_items(const c10::FunctionSchema& schema,
                                                             const torch::jit::Stack& stack);

}  // namespace rematlas
