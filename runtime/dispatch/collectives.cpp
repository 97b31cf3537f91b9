#include "runtime/dispatch/collectives.h"

#include <algorithm>
#include <array>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace rematlas {
namespace {

constexpr std::string_view functional_ops = "_c10d_functional::", writing_ops = "c10d::";

/// Point-to-point ops need a partner that runs the other half, so they are no collectives.
constexpr std::array<std::string_view, 3> between_two{"_c10d_functional::isend", "_c10d_functional::irecv",
                                                      "_c10d_functional::batch_p2p_ops"};
/// The ops of `c10d` that count as collectives. Others take several tensors, or exchange data between two
/// processes.
constexpr std::array<std::string_view, 4> writing_first{
    "c10d::allreduce_", "c10d::broadcast_", "c10d::_allgather_base_", "c10d::_reduce_scatter_base_"};

template <std::size_t n>
bool holds(const std::array<std::string_view, n>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_collective(std::string_view op) {
    if (op.starts_with(functional_ops))
        return !waits_for_collective(op) && !wraps_result(op) && !holds(between_two, op);
    return holds(writing_first, op);
}

bool waits_for_collective(std::string_view op) {
    return op == "_c10d_functional::wait_tensor" || op == "_c10d_functional::wait_tensors";
}

bool wraps_result(std::string_view op) {
    return op == "_c10d_functional::_wrap_tensor_autograd";
}

bool exchanges_data_otherwise(std::string_view op) {
    return (op.starts_with(functional_ops) || op.starts_with(writing_ops)) && !is_collective(op) &&
           !waits_for_collective(op) && !wraps_result(op) && op != "c10d::check_for_nan";
}

bool writes_to_first_argument(std::string_view op) {
    return holds(writing_first, op);
}

std::size_t group_argument(const c10::FunctionSchema& schema) {
    const auto by_name = schema.argumentIndexWithName("group_name");
    return static_cast<std::size_t>(by_name ? *by_name
                                            : schema.argumentIndexWithName("process_group").value());
}

std::string name_of_group(const c10::IValue& group) {
    return group.isString() ? group.toStringRef() : group.toCustomClass<c10d::ProcessGroup>()->getGroupName();
}

}  // namespace rematlas
