#include "runtime/replay/host_op_runner.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "runtime/model/model.h"
#include "runtime/replay/replay_run.h"

namespace rematlas {

struct HostOpRunner::Failure {
    std::mutex mutex;
    std::string first = {};
};

Result<void> check_host_ops(const BoundModel& model, const TransferPlan& plan) {
    for (const HostRun& run : plan.host_runs) {
        const OpId op = plan.steps[static_cast<std::size_t>(run.step)].op();
        const char* why = !model.graph.ops[op].outputs.empty()     ? "makes tensors"
                          : model.graph.ops[op].random             ? "draws random numbers"
                          : !model.ops[op].handle                  ? "is the caller's loss"
                          : model.tape.ops[op].skips != no_operand ? "waits for a number of the device"
                                                                   : nullptr;
        if (why)
            return Error{model.owner + ": the plan cannot run: " + model.label(op) + " " + why +
                         ", and runs on the host: there ops only update"};
    }
    return {};
}

HostOpRunner::HostOpRunner(const BoundModel& model, const TransferPlan& plan, const TransferPlayer& player)
    : model_(model), plan_(plan), player_(player), failure_(std::make_shared<Failure>()) {}

namespace {

/// Adds 1 without a kernel, because a kernel would allocate memory for a moment.
void count_up(const at::Tensor& counter) {
    if (counter.scalar_type() == c10::ScalarType::Float)
        *counter.mutable_data_ptr<float>() += 1;
    else
        counter.add_(1);
}

}  // namespace

std::function<void()> HostOpRunner::work(std::size_t step, const OperandTable& operands) const {
    const OpId op = plan_.steps[step].op();
    const std::vector<HostRun::Operand>& places = plan_.host_run(step).operands;
    const auto tensor = [&](int number) {
        const Operand& operand = model_.tape.operands[number];
        const auto found = std::find_if(places.begin(), places.end(), [&](const HostRun::Operand& one) {
            return one.tensor == operand.tensor;
        });
        if (operand.on_host && !model_.device.device().is_cpu()) return operands[number];
        TORCH_CHECK(found != places.end(), "reads what is not on the host");
        const auto at = static_cast<std::size_t>(found->place);
        const HostPlace& place = plan_.places[at];
        c10::DataPtr memory(player_.place(at), c10::DeviceType::CPU);
        c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(place.bytes),
                             std::move(memory), nullptr, false);
        return tensor_of(operand, std::move(storage), c10::DeviceType::CPU);
    };
    std::vector<at::Tensor> counters;
    for (const int counter : model_.tape.ops[op].counters) counters.push_back(tensor(counter));
    return [this, op, counters, arguments = model_.arguments_of(op, tensor), failure = failure_] {
        try {
            const BelowAutograd below;
            for (const at::Tensor& counter : counters) count_up(counter);
            const at::AutoGradMode mode(model_.tape.ops[op].grad_mode);
            torch::jit::Stack stack = arguments;
            model_.ops[op].handle->callBoxed(stack);
        } catch (const std::exception& error) {
            const std::lock_guard lock(failure->mutex);
            if (failure->first.empty())
                failure->first = model_.label(op) + " on the host: " + one_line(error);
        }
    };
}

void HostOpRunner::rethrow() {
    const std::lock_guard lock(failure_->mutex);
    if (!failure_->first.empty()) throw std::runtime_error(std::exchange(failure_->first, {}));
}

}  // namespace rematlas
