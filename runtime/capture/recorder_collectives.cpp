#include <algorithm>

#include "runtime/capture/named_collective.h"
#include "runtime/capture/recorder.h"
#include "runtime/dispatch/collectives.h"
#include "runtime/dispatch/stack_tensors.h"

namespace rematlas {

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
