// torch.classes.rematlas.Plan: a step that is planned, and then runs by its plan.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/training/bindings.h"
#include "runtime/training/planned_step.h"
#include "runtime/training/planner.h"

namespace rematlas {

struct TorchPlan : torch::CustomClassHolder {
    TorchPlan(const c10::intrusive_ptr<TorchRecording>& first,
              const c10::intrusive_ptr<TorchRecording>& second, const std::string& name);
    TorchPlan(std::shared_ptr<DeviceRuntime> device, std::shared_ptr<Planner> planner)
        : device(std::move(device)), planner(std::move(planner)) {}
    TorchPlan(const std::string& path, const std::string& device_name);

    /// Takes the schedule, times and workspaces from the plan file of another process, for the step that was
    /// recorded in this process. Throws if the two steps differ in ops or tensors. Values of arguments may
    /// differ.
    TorchPlan(const std::string& path, const TorchPlan& recorded);

    /// Returns the schedule that was found or loaded; null while there is none.
    const Schedule* schedule();
    /// Binds the present schedule (see `schedule`) to tensors. `states`: the tensors of the optimizer, if the
    /// step ends with the optimizer's updates.
    void bind(const std::vector<std::string>& names, const std::vector<at::Tensor>& tensors,
              std::int64_t parameters, const std::string& owner, std::vector<at::Tensor> states);
    /// Runs the forward. Returns the outputs, the number of the frame, and an empty text. If the original has
    /// to run, returns no outputs, a number and the reason; the number is 0 if the program's course has
    /// changed, and -1 if tensors do not fit the plan or `outside` has changed.
    std::tuple<std::vector<at::Tensor>, std::int64_t, std::string> forward(
        const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& inputs, bool arena,
        bool measured);
    /// Returns a budget that is known to work: in bytes, including tensors beside the step, and as shares.
    /// Returns null if no such budget is known.
    nlohmann::json works(const PlanAnswer& answer, const Infeasible& infeasible) const;
    std::string answer();
    std::string last() const;
    /// Returns the JSON of the LossHeadMemory, or "null".
    std::string loss_head() const;
    std::string graph_text();
    void save(const std::string& path);
    std::shared_ptr<DeviceRuntime> device;
    std::shared_ptr<Planner> planner;
    std::optional<Schedule> loaded;
    std::shared_ptr<PlannedStep> step;
    OutsideTensors outside;  ///< tensors whose contents the plan has, see OutsideTensors
};

/// Returns functions that call the callbacks which Python passed to `set_callbacks`. They make Python run the
/// original's forward, and tell Python what happened to the backward.
OriginalForward original_of_frames();

}  // namespace rematlas
