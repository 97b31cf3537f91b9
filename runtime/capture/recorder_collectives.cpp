#include <algorithm>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "runtime/capture/recorder.h"
#include "runtime/dispatch/collectives.h"
#include "runtime/dispatch/stack_tensors.h"

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

/// Returns the functional collective that does the same as an op of `c10d`, such as
/// `_c10d_functional::all_reduce_` for `c10d::allreduce_`. A functional collective takes only tensors, names
/// and numbers; its names and numbers can be compared and written to files. Returns nullopt if no functional
/// collective does the same.
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

}  // namespace

void Recorder::note_group(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    const auto& schema = op.schema();
    std::string group =
        name_of_group(stack[stack.size() - schema.arguments().size() + group_argument(schema)]);
    if (std::find(groups_.begin(), groups_.end(), group) == groups_.end())
        groups_.push_back(std::move(group));
}

/// Replaces a collective that takes its process group as an object (see with_named_group). Refuses an op that
/// exchanges data and cannot be replaced.
void Recorder::name_group(RecordedOp& record) {
    const bool is_other = exchanges_data_otherwise(record.tape.name);
    if (!is_other && !writes_to_first_argument(record.tape.name)) return;
    std::optional<TapeOp> named = is_other ? std::nullopt : with_named_group(record.tape);
    if (!named)
        refuse(
            record.tape.name,
            "exchanges data with other processes in a way that a plan cannot repeat: call it outside of the "
            "module's forward");
    record.tape = *std::move(named);
}

/// Runs a wait for a collective. The wait is no op of the graph: a plan waits as soon as it has begun the
/// collective. If shape functions run in place of kernels, no collective has begun, and the wait is left out.
void Recorder::wait(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    try {
        if (!refusal_)
            for_each_tensor(stack->back(), [&](const at::Tensor& tensor) {
                int made = is_known(tensor) ? value_of(tensor) : -1;
                while (made >= 0 && recording_.values[made].producer < 0)
                    made = recording_.values[made].version_of;
                if (made < 0)
                    refuse(
                        op.schema().name(),
                        "waits for a collective that began before the step: wait for it before the module is "
                        "called");
            });
    } catch (const Refused&) {
    }
    if (!options_.run_kernel) run(op, keys, stack);
}

}  // namespace rematlas
