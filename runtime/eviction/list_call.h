// Splits a call on lists of tensors, such as _foreach_add_, into one call for each item. The results have the
// same bits.
//
//     if (goes_item_by_item(op.schema()))
//         if (const auto items = calls_of_items(op.schema(), stack)) ...   // the arguments of each call
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <vector>

namespace rematlas {

/// Returns true if the operator's result for an item of its lists does not depend on the other items.
bool goes_item_by_item(const c10::FunctionSchema& schema);

/// Returns, for each item, the same arguments with lists of one item. Returns nullopt if there is only one
/// item, if the lists have different lengths, or if whole lists and single items perhaps get different
/// kernels.
std::optional<std::vector<torch::jit::Stack>> calls_of_items(const c10::FunctionSchema& schema,
                                                             const torch::jit::Stack& stack);

}  // namespace rematlas
