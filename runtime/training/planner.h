// The planner: it leads from two recordings of the same step to a schedule that keeps the budget, in the
// background.
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
    Bytes budget;         ///< budget of the step
    Bytes beside;         ///< bytes of tensors that live beside the step
    Bytes others;         ///< bytes that the other frames hold while one frame runs
    StepBytes step = {};  ///< the bytes of which a budget in shares is a share, with all frames open
    double seconds = 0;
};

class Planner {
  public:
    /// Errors: why the two recordings are not of one course.
    static Result<std::shared_ptr<Planner>> create(const StepRecording& first, const StepRecording& second,
                                                   const std::string& name, DeviceRuntime& device);
    /// Makes a planner of one step that was recorded from shapes. Each op is timed alone on random
    /// operands, which takes the memory of the largest op. Without `timed` all ops take the same time and
    /// no workspace. The memory of the caller's loss is guessed as four times the outputs that are no
    /// single numbers, and is at least what the recording expects. `there`: the parameters, which timed ops
    /// read in their own memory. Errors: the op that cannot be run alone.
    static Result<std::shared_ptr<Planner>> from_shapes(const StepRecording& recording,
                                                        const std::string& name, DeviceRuntime& device,
                                                        bool timed,
                                                        const std::vector<NamedTensor>& there = {});
    /// Makes a planner of the same step, which ends with the updates of an optimizer. Each update is timed
    /// alone, which takes the memory of the largest one. `end`: what else happens to the gradients. Errors:
    /// the parameter that cannot be updated so; a step whose backward may find that the program takes
    /// another course, after parameters have been updated.
    Result<std::shared_ptr<Planner>> with_optimizer(const std::vector<OptimizerGroup>& groups,
                                                    const StepEnd& end, DeviceRuntime& device) const;
    /// Makes a planner of the same step, recorded from shapes, followed by an optimizer's step that was
    /// recorded from shapes too. It is for planning only. `what` says in one sentence how the updates run,
    /// and becomes part of the graph's provenance ("optimizer"). Errors: a tensor that the step does not
    /// know; a device that is present.
    Result<std::shared_ptr<Planner>> with_recorded_update(const RecordedUpdate& update,
                                                          const std::string& what,
                                                          DeviceRuntime& device) const;
    /// Makes a planner of the same step, recorded from shapes, for another absent device of the same kind
    /// and capability. The costs differ, and so does the library's workspace.
    std::shared_ptr<Planner> on_absent_device(DeviceRuntime& device) const;
    /// Makes a planner of a plan that was made before.
    static std::shared_ptr<Planner> with(Graph graph, Tape tape);
    ~Planner();

    /// Solves in the background, for a step that has `frames` forwards open at a time. A budget in bytes is
    /// for all tensors on the device, `beside` included. A budget in shares is for the step alone, with all
    /// its frames open: `beside` comes on top. If `limits.time` is 0, the size of the graph decides it.
    /// `in_arena`: whether the step will run in an arena.
    void start(SolveRequest request, int frames, Bytes beside, bool in_arena);
    bool busy() const;
    void wait() const;
    /// The answer of the last start; null while the solver is busy.
    const PlanAnswer* answer();

    const Graph& graph() const { return *graph_; }
    std::shared_ptr<const Graph> shared_graph() const { return graph_; }
    const Tape& tape() const { return tape_; }
    void note_packing(std::string packing) { tape_.packing = std::move(packing); }
    /// The peak without recomputation, with `frames` forwards open.
    Bytes whole_peak(int frames = 1) const { return whole_peak_ + Bytes((frames - 1) * whole_held_.value); }
    Bytes residents() const { return residents_; }
    Bytes kept_by_loss() const { return kept_by_loss_; }
    /// Converts a budget as `start` takes it to bytes of the step.
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

/// Bytes of the step that are held while the loss runs: residents, and the tensors that the forward keeps
/// for its backward.
Bytes held_at_loss(const Graph& graph, const std::vector<Step>& steps);

}  // namespace rematlas
