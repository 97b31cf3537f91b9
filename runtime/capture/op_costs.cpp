#include "runtime/capture/op_costs.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>

#include "core/costs/host_profile.h"
#include "core/costs/roofline.h"
#include "runtime/capture/host_times.h"
#include "runtime/capture/record_step.h"
#include "runtime/model/input_spec.h"

namespace rematlas {
namespace {

/// Returns the bytes that a kernel moves for an operand. Elements of expanded axes count once.
double bytes_of(const Operand& operand, const Graph& graph) {
    double bytes = static_cast<double>(c10::elementSize(operand.dtype));
    for (std::size_t i = 0; i < operand.sizes.size(); ++i)
        if (operand.strides[i] != 0) bytes *= static_cast<double>(operand.sizes[i]);
    return operand.tensor.valid()
               ? std::min(bytes, static_cast<double>(graph.tensors[operand.tensor].bytes.value))
               : 0.0;
}

/// Says whether the op has an argument `is_causal` whose value is true.
bool is_causal(const TapeOp& op) {
    const auto handle = c10::Dispatcher::singleton().findSchema({op.name, op.overload});
    const auto place = handle ? handle->schema().argumentIndexWithName("is_causal") : std::nullopt;
    if (!place || static_cast<std::size_t>(*place) >= op.arguments.size()) return false;
    const c10::IValue& value = op.arguments[static_cast<std::size_t>(*place)].value;
    return value.isBool() && value.toBool();
}

OpCall call_of(const TapeOp& op, const Graph& graph, const Tape& tape) {
    OpCall call{.name = op.name, .gradients = 0, .causal = is_causal(op)};
    double item = 4;
    for (const Argument& argument : op.arguments) {
        if (argument.value.isBoolList()) {  // output_mask
            const auto mask = argument.value.toBoolList();
            for (std::size_t i = 0; i < std::min<std::size_t>(2, mask.size()); ++i) call.gradients += mask[i];
        }
        for (int index : argument.operands) {
            if (index == no_operand) {
                call.arguments.emplace_back();
                continue;
            }
            const Operand& operand = tape.operands[index];
            if (call.arguments.empty()) item = static_cast<double>(c10::elementSize(operand.dtype));
            call.arguments.push_back({operand.sizes, std::string(dtype_name(operand.dtype))});
            const double bytes = bytes_of(operand, graph);
            call.bytes_read += bytes;
            for (const Overwrite& overwrite : op.overwrites)
                if (overwrite.before == operand.tensor) call.bytes_written += bytes;
        }
    }
    for (TensorId made : op.returns)
        if (made.valid()) call.bytes_written += static_cast<double>(graph.tensors[made].bytes.value);
    call.elements_written = call.bytes_written / item;
    return call;
}

}  // namespace

void predict_costs(CapturedStep& step, const DeviceProfile& profile) {
    bool runs_there = false;
    for (OpId id : step.graph.ops.ids()) {
        const TapeOp& op = step.tape.ops[id];
        if (op.name == recorded_update_op) {
            Nanoseconds time;
            for (const OpCall& call : op.stands_for) time += roofline(profile, call);
            step.graph.ops[id].time = time;
            continue;
        }
        // The time of the caller's loss is not predicted.
        const OpCall call = op.name == output_gradients_op ? OpCall{} : call_of(op, step.graph, step.tape);
        Op& planned = step.graph.ops[id];
        planned.time = roofline(profile, call);
        planned.host_time.reset();
        if (planned.phase != Phase::optimizer || !can_run_on_host(op)) continue;
        planned.host_time = profile.kind == "cpu"
                                ? planned.time
                                : update_time(profile.host, call.bytes_read + call.bytes_written);
        runs_there = true;
    }
    if (runs_there && profile.kind != "cpu")
        add_provenance(step.graph, {{"host_times", described(profile.host)}});
}

}  // namespace rematlas
