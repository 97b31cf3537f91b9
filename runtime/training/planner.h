// The planner makes, from two recordings of the same step, a schedule that keeps the budget. It works in the
// background. A frame is one forward of the step with its backward; several frames may be open at a time.
//
//     Result<std::shared_ptr<Planner>> planner =
//         Planner::create(first, second, "GPT2LMHeadModel", device);
//     (*planner)->start({.budget = *parse_budget("60%")}, 1, beside, in_arena);
//     ... training goes on ...
//     if (!(*planner)->busy()) (*planner)->answer();
#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>

#include "core/graph/graph.h"
#include "core/planning/request.h"
#include "runtime/capture/build_graph.h"
#include "runtime/capture/optimizer_ops.h"
#include "runtime/capture/update_recorder.h"
#include "runtime/training/rank_costs.h"
#include "runtime/training/step_recording.h"

namespace rematlas {

struct PlanAnswer {
    std::variant<Schedule, Infeasible, Error> found;
    Bytes budget;         ///< budget of the step
    Bytes beside;         ///< bytes of tensors that live beside the step
    Bytes others;         ///< bytes that the other open frames hold while one frame runs
    StepBytes step = {};  ///< bytes of which a budget such as 60% is a share, with all frames open
};

class Planner {
  public:
    /// Fails if the two recordings do not have the same course; the error says why.
    static Result<std::shared_ptr<Planner>> create(const StepRecording& first, const StepRecording& second,
                                                   const std::string& name, DeviceRuntime& device);
    /// Makes a planner for a step that was recorded from shapes. For an absent device the costs of ops are
    /// predicted. For a present device, if `timed`, each op is timed alone on random operands, which takes
    /// the memory of the largest op; else all ops take the same time and no workspace. The memory of the
    /// caller's loss is estimated as four times the bytes of the outputs that are not single numbers (16-bit
    /// numbers count as 32-bit ones), and is at least the memory that the recording expects. `there`: the
    /// parameters, which timed ops read in place. Fails if an op cannot be run alone; the error names the op.
    static Result<std::shared_ptr<Planner>> from_shapes(const StepRecording& recording,
                                                        const std::string& name, DeviceRuntime& device,
                                                        bool timed,
                                                        const std::vector<NamedTensor>& there = {});
    /// Makes a planner for the same step followed by the updates of an optimizer. Each update is timed alone,
    /// which takes the memory of the largest update. `end` says how gradients are summed, clipped and scaled.
    /// Fails if a parameter cannot be updated in this way; the error names the parameter. Also fails if the
    /// program could take another course after parameters have been updated.
    Result<std::shared_ptr<Planner>> with_optimizer(const std::vector<OptimizerGroup>& groups,
                                                    const StepEnd& end, DeviceRuntime& device) const;
    /// Makes a planner for the same step, recorded from shapes, followed by an optimizer's step that was also
    /// recorded from shapes. The result is for planning only. `what` says in one sentence how the updates
    /// run, and becomes part of the graph's provenance ("optimizer"). Fails if the update uses a tensor that
    /// the step does not have, or if the device is present.
    Result<std::shared_ptr<Planner>> with_recorded_update(const RecordedUpdate& update,
                                                          const std::string& what,
                                                          DeviceRuntime& device) const;
    /// Makes a planner for the same step, recorded from shapes, on another absent device of the same kind and
    /// capability. Only the costs and the library's workspace differ.
    std::shared_ptr<Planner> on_absent_device(DeviceRuntime& device) const;
    /// Makes a planner for the same step, recorded from shapes, whose collectives run beside compute over
    /// these links. Fails like `add_rank_costs`.
    Result<std::shared_ptr<Planner>> with_rank_costs(const RankCosts& costs) const;
    /// Makes a planner for the same step, in which collectives take `weight` times as long.
    std::shared_ptr<Planner> with_wire_weight(double weight) const;
    /// Makes a planner for a plan that was made before.
    static std::shared_ptr<Planner> with(Graph graph, Tape tape);
    ~Planner();

    /// Solves in the background, for a step with `frames` forwards open at a time. A budget in bytes is for
    /// all tensors on the device, including `beside`. A budget in shares is for the step alone, with all its
    /// frames open, and `beside` is added to it. If `limits.time` is 0, the time depends on the size of the
    /// graph. `in_arena`: whether the step will run in an arena.
    void start(SolveRequest request, int frames, Bytes beside, bool in_arena);
    /// `busy`, `wait` and `answer` may be called from several threads.
    bool busy() const;
    void wait() const;
    /// Returns the answer to the last call of `start`; null while the solver is busy.
    const PlanAnswer* answer();

    const Graph& graph() const { return *graph_; }
    std::shared_ptr<const Graph> shared_graph() const { return graph_; }
    const Tape& tape() const { return tape_; }
    void note_packing(std::string packing) { tape_.packing = std::move(packing); }
    /// Returns the peak without recomputation, with `frames` forwards open.
    Bytes whole_peak(int frames = 1) const { return whole_peak_ + Bytes((frames - 1) * whole_held_.value); }
    Bytes residents() const { return residents_; }
    Bytes kept_by_loss() const { return kept_by_loss_; }
    /// Converts a budget, as `start` takes it, to bytes for the step alone.
    Result<Bytes> step_budget(const Budget& budget, Bytes beside, int frames) const;

  private:
    Planner(Graph graph, Tape tape);
    std::shared_ptr<Planner> with_step(CapturedStep step) const;  ///< for a changed copy of this step
    static Result<std::shared_ptr<Planner>> of(CapturedStep step, const StepRecording& recording,
                                               LossMemory loss, const std::string& name,
                                               DeviceRuntime& device, const std::string& captured,
                                               const std::string& times);

    bool is_solving() const;  ///< the caller must hold `mutex_`

    std::shared_ptr<const Graph> graph_;
    Tape tape_;
    Bytes whole_peak_, whole_held_, residents_, kept_by_loss_;
    std::stop_source stop_;
    mutable std::mutex mutex_;  ///< guards the two members below
    std::shared_future<PlanAnswer> future_;
    std::optional<PlanAnswer> answer_;
};

/// Returns the bytes of the step that are held while the loss runs: residents, and the tensors that the
/// forward keeps for its backward.
Bytes held_at_loss(const Graph& graph, const std::vector<Step>& steps);

}  // namespace rematlas
