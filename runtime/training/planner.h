// From two recordings of the same step to a schedule that keeps the budget, in the background.
//
//     Result<std::shared_ptr<Planner>> planner = Planner::create(first, second, "GPT2LMHeadModel");
//     (*planner)->start({.budget = *parse_budget("60%")}, 1, beside);
//     ... training goes on ...
//     if (!(*planner)->busy()) (*planner)->answer();
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>

#include "core/graph/graph.h"
#include "core/planning/request.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/optimizer_ops.h"
#include "runtime/capture/update_recorder.h"
#include "runtime/training/step_recording.h"

namespace rematlas {

struct PlanAnswer {
    std::variant<Schedule, Infeasible, Error> found;
    Bytes budget;         ///< of the step
    Bytes beside;         ///< counted beside it
    Bytes others;         ///< held by the other frames while one runs
    StepBytes step = {};  ///< what shares of it are of, with all its frames open
    double seconds = 0;
};

class Planner {
  public:
    /// Errors: why the two are not of one course.
    static Result<std::shared_ptr<Planner>> create(const StepRecording& first, const StepRecording& second,
                                                   const std::string& name, DeviceRuntime& device);
    /// Of one step recorded from shapes. Its ops are timed one after the other on random operands, which
    /// takes the memory of the largest; without `timed` all take the same time and no workspace. What the
    /// caller's loss takes is at least what the recording expects, and guessed to be four times the outputs that
    /// are no single numbers. Errors: the op that
    /// cannot be run alone. `there`: the parameters, which ops read where they lie while they are timed.
    static Result<std::shared_ptr<Planner>> from_shapes(const StepRecording& recording,
                                                        const std::string& name, DeviceRuntime& device,
                                                        bool timed,
                                                        const std::vector<NamedTensor>& there = {});
    /// The same step, which ends with the updates of an optimizer: these are timed one after the other, which
    /// takes the memory of the largest. `end`: what else becomes of the gradients. Errors: the parameter that
    /// cannot be updated so; a step that may turn out in its backward to take another course, when parameters
    /// are updated already.
    Result<std::shared_ptr<Planner>> with_optimizer(const std::vector<OptimizerGroup>& groups,
                                                    const StepEnd& end, DeviceRuntime& device) const;
    /// The same step, recorded from shapes, with an optimizer's step behind it as it was recorded too; for
    /// planning only. `what` says in one sentence how the updates run; it becomes part of the graph's provenance
    /// ("optimizer"). Errors: a tensor that the step does not know; a device that is there.
    Result<std::shared_ptr<Planner>> with_recorded_update(const RecordedUpdate& update,
                                                          const std::string& what,
                                                          DeviceRuntime& device) const;
    /// The same step, recorded from shapes, on another device of its kind and capability that is not there:
    /// other costs, and another library's workspace.
    std::shared_ptr<Planner> on_absent_device(DeviceRuntime& device) const;
    /// Of a plan that was made before.
    static std::shared_ptr<Planner> with(Graph graph, Tape tape);
    ~Planner();

    /// In the background, for so many forwards open at a time. A budget in bytes is of all tensors on the
    /// device, `beside` included; shares are of the step alone, with all its frames open: what lives beside
    /// it comes on top. A `limits.time` of 0: by the size of the graph. `in_arena`: so the step will run.
    void start(SolveRequest request, int frames, Bytes beside, bool in_arena);
    bool busy() const;
    void wait() const;
    /// Of the last start; null while it is busy.
    const PlanAnswer* answer();

    const Graph& graph() const { return *graph_; }
    std::shared_ptr<const Graph> shared_graph() const { return graph_; }
    const Tape& tape() const { return tape_; }
    void note_packing(std::string packing) { tape_.packing = std::move(packing); }
    /// Without recomputation, with so many forwards open.
    Bytes whole_peak(int frames = 1) const { return whole_peak_ + Bytes((frames - 1) * whole_held_.value); }
    Bytes residents() const { return residents_; }
    Bytes kept_by_loss() const { return kept_by_loss_; }
    /// The bytes of the step for a budget as `start` takes it.
    Result<Bytes> step_budget(const Budget& budget, Bytes beside, int frames) const;

  private:
    Planner(Graph graph, Tape tape);
    static Result<std::shared_ptr<Planner>> of(CapturedStep step, const StepRecording& recording,
                                               LossMemory loss, const std::string& name,
                                               DeviceRuntime& device, const std::string& captured,
                                               const std::string& times);

    std::shared_ptr<const Graph> graph_;
    Tape tape_;
    Bytes whole_peak_, whole_held_, residents_, kept_by_loss_;
    std::stop_source stop_;
    std::future<PlanAnswer> future_;
    std::optional<PlanAnswer> answer_;
};

/// Bytes of the step that are held at the loss: what a forward keeps until its backward.
Bytes held_at_loss(const Graph& graph, const std::vector<Step>& steps);

}  // namespace rematlas
