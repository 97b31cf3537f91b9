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

/// What the operator makes of an item of its lists depends on the others' in nothing.
bool goes_item_by_item(const c10::FunctionSchema& schema);

/// Per item the same arguments, with lists of one. None where there is one item only, and where the lists as a
/// whole may be given another kernel than its items.
std::optional<std::vector<torch::jit::Stack>> calls_of_items(const c10::FunctionSchema& schema,
                                                             const torch::jit::Stack& stack);

}  // namespace rematlas
