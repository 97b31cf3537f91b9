#include "runtime/capture/named_collective.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "runtime/dispatch/collectives.h"

namespace rematlas {
namespace {

/// Returns the name that functional collectives have for the reduction; an empty text if they have none.
std::string name_of_reduction(const c10::IValue& reduction) {
    switch (static_cast<c10d::ReduceOp::RedOpType>(*reduction.toCustomClass<c10d::ReduceOp>())) {
        case c10d::ReduceOp::SUM:
            return "sum";
        case c10d::ReduceOp::AVG:
            return "avg";
        case c10d::ReduceOp::PRODUCT:
            return "product";
        case c10d::ReduceOp::MIN:
            return "min";
        case c10d::ReduceOp::MAX:
            return "max";
        default:
            return "";
    }
}

Argument named(c10::IValue value) {
    return {Argument::Kind::value, std::move(value), {}};
}

}  // namespace

std::optional<TapeOp> with_named_group(const TapeOp& op) {
    const auto& given = op.arguments;
    const auto tensor = [&](std::size_t position) {
        return Argument{Argument::Kind::tensor, {}, {given[position].operands.front()}};
    };
    const bool is_one = !given.empty() && given[0].operands.size() == 1;
    TapeOp made = op;
    made.overload.clear();
    if (op.name == "c10d::allreduce_" && is_one) {
        const std::string reduction = name_of_reduction(given[2].value);
        if (reduction.empty() || !given[3].value.isNone()) return std::nullopt;
        made.name = "_c10d_functional::all_reduce_";
        made.arguments = {tensor(0), named(reduction), named(name_of_group(given[1].value))};
    } else if (op.name == "c10d::broadcast_" && is_one) {
        made.name = "_c10d_functional::broadcast_";
        made.arguments = {tensor(0), given[2], named(name_of_group(given[1].value))};
    } else if (op.name == "c10d::_allgather_base_") {
        const auto group = given[2].value.toCustomClass<c10d::ProcessGroup>();
        made.name = "_c10d_functional::all_gather_into_tensor_out";
        made.arguments = {tensor(1), named(std::int64_t{group->getSize()}), named(group->getGroupName()),
                          tensor(0)};
    } else if (op.name == "c10d::_reduce_scatter_base_") {
        const auto group = given[2].value.toCustomClass<c10d::ProcessGroup>();
        const std::string reduction = name_of_reduction(given[3].value);
        if (reduction.empty()) return std::nullopt;
        made.name = "_c10d_functional::reduce_scatter_tensor_out";
        made.arguments = {tensor(1), named(reduction), named(std::int64_t{group->getSize()}),
                          named(group->getGroupName()), tensor(0)};
    } else {
        return std::nullopt;
    }
    return made;
}

}  // namespace rematlas
