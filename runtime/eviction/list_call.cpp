#include "runtime/eviction/list_call.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string>

namespace rematlas {
namespace {

bool is_list_of(const c10::Argument& argument, c10::TypeKind kind) {
    const auto list = argument.type()->cast<c10::ListType>();
    return list && list->getElementType()->kind() == kind;
}

/// Says whether the kernel for lists accepts the tensors: they must be dense and of one type, and the tensors
/// of one item must have the same layout in all lists.
bool are_alike(const std::vector<std::vector<at::Tensor>>& lists) {
    const at::Tensor& first = lists.front().front();
    for (std::size_t i = 0; i < lists.front().size(); ++i) {
        const at::Tensor& one = lists.front()[i];
        const bool alike = std::all_of(lists.begin(), lists.end(), [&](const auto& list) {
            const at::Tensor& other = list[i];
            return other.has_storage() && other.device() == first.device() &&
                   other.dtype() == first.dtype() && other.sizes() == one.sizes() &&
                   other.strides() == one.strides() && other.is_non_overlapping_and_dense();
        });
        if (!alike) return false;
    }
    return true;
}

c10::IValue only(const c10::IValue& list, std::size_t item) {
    if (list.isTensorList()) return c10::List<at::Tensor>({list.toTensorVector()[item]});
    c10::impl::GenericList one(list.toList().elementType());
    one.push_back(list.toListRef()[item]);
    return one;
}

}  // namespace

bool goes_item_by_item(const c10::FunctionSchema& schema) {
    const std::string& name = schema.name();
    if (name.rfind("aten::_foreach_", 0) != 0) return false;
    for (const char* reduces : {"norm", "max", "powsum"})
        if (name == std::string("aten::_foreach_") + reduces) return false;
    const auto& arguments = schema.arguments();
    // Operators with a tensor `scalars` are excluded: this tensor has the scalars of all items.
    for (const c10::Argument& argument : arguments)
        if (argument.name() == "scalars" && !is_list_of(argument, c10::TypeKind::NumberType)) return false;
    const auto is_list = [](const c10::Argument& one) { return is_list_of(one, c10::TypeKind::TensorType); };
    return std::any_of(arguments.begin(), arguments.end(), is_list) &&
           std::all_of(schema.returns().begin(), schema.returns().end(), is_list) &&
           schema.returns().size() <= 1;
}

std::optional<std::vector<torch::jit::Stack>> calls_of_items(const c10::FunctionSchema& schema,
                                                             const torch::jit::Stack& stack) {
    const std::size_t count = schema.arguments().size(), base = stack.size() - count;
    std::vector<std::vector<at::Tensor>> lists;
    std::vector<std::size_t> listed;
    for (std::size_t i = 0; i < count; ++i) {
        const c10::IValue& value = stack[base + i];
        if (!value.isList()) continue;
        listed.push_back(i);
        if (value.isTensorList()) lists.push_back(value.toTensorVector());
        if (stack[base + listed.front()].toListRef().size() != value.toListRef().size()) return std::nullopt;
    }
    if (lists.empty() || lists.front().size() < 2) return std::nullopt;
    if (!lists.front().front().is_cpu() && !are_alike(lists)) return std::nullopt;
    std::vector<torch::jit::Stack> calls;
    for (std::size_t item = 0; item < lists.front().size(); ++item) {
        torch::jit::Stack call(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
        for (const std::size_t i : listed) call[i] = only(call[i], item);
        calls.push_back(std::move(call));
    }
    return calls;
}

}  // namespace rematlas
