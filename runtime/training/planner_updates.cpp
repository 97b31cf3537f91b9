// Planners of steps that end with the updates of an optimizer.
#include <nlohmann/json.hpp>

#include "runtime/capture/host_times.h"
#include "runtime/capture/op_costs.h"
#include "runtime/capture/record_step.h"
#include "runtime/capture/recorded_update_ops.h"
#include "runtime/training/planner.h"

namespace rematlas {

Result<std::shared_ptr<Planner>> Planner::with_optimizer(const std::vector<OptimizerGroup>& groups,
                                                         const StepEnd& end, DeviceRuntime& device) const {
    CapturedStep step{.graph = *graph_, .tape = tape_};
    for (const TapeOp& op : step.tape.ops)
        if (op.guard || !op.result_sizes.empty())
            return Error{"the program reads the value of a tensor (" + op.name +
                         "), and by another one the step would take another course"};
    if (Result<void> added = add_optimizer(step, groups, device, end); !added) return added.error();
    if (const DeviceProfile* profile = device.profile_if_absent()) {
        predict_costs(step, *profile);
    } else {
        measure_updates(step.graph, step.tape, device);
        for (Op& op : step.graph.ops) op.host_time.reset();  // because in training all ops run on the device
    }
    add_provenance(step.graph, {{"optimizer",
                                 "fused: each parameter is updated by an op of the plan when its gradient is "
                                 "final, which is freed then"}});
    if (Result<void> valid = validate(step.graph); !valid) return valid.error();
    return with_step(std::move(step));
}

Result<std::shared_ptr<Planner>> Planner::with_recorded_update(const RecordedUpdate& update,
                                                               const std::string& what,
                                                               DeviceRuntime& device) const {
    const DeviceProfile* profile = device.profile_if_absent();
    if (!profile) return Error{"updates are recorded for a device that is not there: give device_profile"};
    CapturedStep step{.graph = *graph_, .tape = tape_};
    if (Result<void> added = add_recorded_update(step, update, device); !added) return added.error();
    predict_costs(step, *profile);
    add_provenance(step.graph, {{"optimizer", what}});
    if (Result<void> valid = validate(step.graph); !valid) return valid.error();
    return with_step(std::move(step));
}

}  // namespace rematlas
