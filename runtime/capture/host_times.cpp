#include "runtime/capture/host_times.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <unordered_map>

#include "runtime/device/measured_time.h"
#include "runtime/replay/op_signature.h"
#include "runtime/replay/replay_run.h"

namespace rematlas {
namespace {

at::Tensor like(const Operand& operand, c10::Device device) {
    const auto options = c10::TensorOptions()
                             .dtype(operand.dtype)
                             .device(operand.on_host ? c10::Device(c10::DeviceType::CPU) : device);
    return at::empty_strided(operand.sizes, operand.strides, options).fill_(1);
}

torch::jit::Stack arguments_on(const TapeOp& op, const Tape& tape, c10::Device device) {
    torch::jit::Stack stack;
    for (const Argument& argument : op.arguments) {
        c10::List<at::Tensor> tensors;
        for (int operand : argument.operands) tensors.push_back(like(tape.operands[operand], device));
        switch (argument.kind) {
            case Argument::Kind::value:
                stack.push_back(argument.value);
                break;
            case Argument::Kind::tensor:
                stack.emplace_back(tensors.get(0));
                break;
            default:
                stack.emplace_back(std::move(tensors));
        }
    }
    return stack;
}

/// Returns the median time of five calls of `run`, which must pop its arguments off the stack.
template <class Run>
Nanoseconds median_of_five(const torch::jit::Stack& arguments, Run&& run) {
    std::array<std::int64_t, 5> times{};
    for (std::int64_t& time : times) {
        torch::jit::Stack stack = arguments;
        const auto began = std::chrono::steady_clock::now();
        run(stack);
        time = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return Nanoseconds(std::max<std::int64_t>(times[times.size() / 2], 1));
}

Nanoseconds time_on_host(const TapeOp& op, const Tape& tape) {
    const BelowAutograd below;
    const auto kernel = c10::Dispatcher::singleton().findSchemaOrThrow(op.name.c_str(), op.overload.c_str());
    const Nanoseconds time = median_of_five(arguments_on(op, tape, c10::DeviceType::CPU),
                                            [&](torch::jit::Stack& stack) { kernel.callBoxed(stack); });
    return counted_time("host " + op.name, time);
}

/// Measures the op together with the ops that add 1 to its step counters, as in a step.
void measure_on_device(Graph& graph, OpId id, const Tape& tape, DeviceRuntime& device) {
    Op& op = graph.ops[id];
    const TapeOp& of = tape.ops[id];
    const BelowAutograd below;
    const auto kernel = c10::Dispatcher::singleton().findSchemaOrThrow(of.name.c_str(), of.overload.c_str());
    const torch::jit::Stack arguments = arguments_on(of, tape, device.device());
    at::Tensor counter = at::empty_strided({}, {}, c10::TensorOptions().device(device.device())).fill_(0);
    const std::int64_t alive = device.alive_bytes();
    device.reset_peak();
    op.time = median_of_five(arguments, [&](torch::jit::Stack& stack) {
        for (std::size_t i = 0; i < of.counters.size(); ++i) counter.add_(1);
        kernel.callBoxed(stack);
        device.synchronize();
    });
    op.time = counted_time(of.name, op.time);
    std::int64_t made = 0;
    for (std::size_t i = 0; i < of.returns.size(); ++i)
        if (of.returns[i].valid()) made += graph.tensors[of.returns[i]].bytes.value;
    op.workspace = Bytes(std::max<std::int64_t>(device.peak_bytes() - alive - made, 0));
}

}  // namespace

bool can_run_on_host(const TapeOp& op) {
    return op.name.starts_with("aten::_fused_") && op.skips == no_operand;
}

void measure_updates(Graph& graph, const Tape& tape, DeviceRuntime& device) {
    std::unordered_map<std::string, OpId> measured;
    for (OpId id : graph.ops.ids()) {
        if (graph.ops[id].phase != Phase::optimizer) continue;
        const auto [first, fresh] = measured.try_emplace(signature_of(tape, id), id);
        if (fresh) measure_on_device(graph, id, tape, device);
        graph.ops[id].time = graph.ops[first->second].time;
        graph.ops[id].workspace = graph.ops[first->second].workspace;
    }
    measure_host_times(graph, tape, device);
}

void measure_host_times(Graph& graph, const Tape& tape, const DeviceRuntime& device) {
    std::unordered_map<std::string, Nanoseconds> known;
    for (OpId id : graph.ops.ids()) {
        Op& op = graph.ops[id];
        if (op.phase != Phase::optimizer || !can_run_on_host(tape.ops[id])) continue;
        if (device.device().is_cpu()) {
            op.host_time = op.time;
            continue;
        }
        const auto [time, fresh] = known.try_emplace(signature_of(tape, id));
        if (fresh) time->second = time_on_host(tape.ops[id], tape);
        op.host_time = time->second;
    }
}

}  // namespace rematlas
