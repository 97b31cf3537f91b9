// A trial run: the original trains a real step, and a plan is compared with it before the plan is trusted.
//
//     auto trial = std::make_shared<TrialRun>(step, tensors, inputs);
//     trial->begin();
//     ... the original's forward ...
//     trial->end(outputs);      // its backward replays the step by the plan, and compares bit by bit
//     trial->verdict();
//
// The step trains as if there were no comparison: generator and buffers are restored after the replay. The
// gradients of the step are held during the replay. Under online eviction the replay runs first, and only
// digests of its gradients are kept. The tensors that the original's forward keeps are evicted to make room
// for the replay.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/other_threads.h"
#include "runtime/training/cut_forward.h"
#include "runtime/training/planned_step.h"

namespace rematlas {

class TrialRun : public std::enable_shared_from_this<TrialRun> {
  public:
    enum class Verdict { open, same, different, other_course, no_room, dropped, disturbed };

    TrialRun(std::shared_ptr<PlannedStep> step, std::vector<at::Tensor> tensors,
             std::vector<at::Tensor> inputs);
    /// Begins the step. Returns the tensors that the forward must be given as inputs.
    std::vector<at::Tensor> begin();
    void end(const std::vector<at::Tensor>& outputs);
    /// Gives up the comparison: from now on the caller's graph runs the step's backward.
    void uncut(const std::string& why);
    /// Must be called if the forward has thrown an exception.
    void abandon() { verdict_ = Verdict::other_course, others_ = nullptr; }

    /// `other_course`: the step was not the recorded one (guards, gradients with another layout), so nothing
    /// was compared. `no_room`: the plan does not fit beside the tensors that cannot be evicted. `dropped`:
    /// nobody can call the step's backward any more, or another step was recorded or compared at the same
    /// time. `disturbed`: something differs, and another thread may be the cause.
    Verdict verdict() const {
        return verdict_ == Verdict::open && cut_.is_dropped() ? Verdict::dropped : verdict_;
    }
    const std::string& why() const { return why_; }  ///< why the verdict is not `same`
    /// Returns an op that another thread ran during the step; empty if there was none.
    const std::string& other_thread() const { return other_thread_; }
    Bytes measured_peak() const { return peak_; }  ///< peak of the replay, including residents
    /// Returns the bytes that the original's forward keeps for its backward, including the outputs.
    std::int64_t held() const { return held_; }

  private:
    CutForward::Gradients backward(const torch::autograd::variable_list& gradients);
    void watch_no_more();
    bool is_true_everywhere(bool here) const;
    /// The results of the replay.
    struct Replay {
        torch::autograd::variable_list gradients;  ///< tensors of Tape::gradients
        std::vector<std::string> digests;          ///< digests of the gradients, once `digest` has freed them
        std::unique_ptr<Snapshot> after;
        std::string differs;  ///< difference in the forward; empty if there is none
        /// Frees the gradients, and keeps digests for the comparison.
        void digest();
        bool made(std::size_t place, const at::Tensor& gradient) const;
    };
    std::optional<torch::autograd::variable_list> gradients_by_output(
        const torch::autograd::variable_list& gradients) const;
    std::optional<Replay> replay_with_others(const torch::autograd::variable_list& gradients,
                                             const Snapshot& begun);
    std::optional<Replay> replay(const torch::autograd::variable_list& gradients, const Snapshot& begun);
    std::string difference_of_forward(const Forwarded& forward, const Snapshot& replayed) const;
    std::int64_t bytes_of_replay() const;
    at::Tensor apart(const at::Tensor& gradient) const;
    void conclude(const Replay& replayed, const CutForward::Gradients& made, const Snapshot& begun);
    void put_back(const Snapshot& state) const;
    bool moves_generator_otherwise(const Snapshot& replayed, const Snapshot& begun,
                                   const Snapshot& reached) const;

    std::shared_ptr<PlannedStep> step_;
    std::vector<at::Tensor> tensors_, inputs_, trained_;
    std::vector<int> gradient_places_;  ///< per trained parameter: position of its gradient in
                                        ///< Tape::gradients
    CutForward cut_;
    std::vector<int> cut_places_;
    std::vector<std::string> outputs_;  ///< digests of the original's outputs
    std::unique_ptr<Snapshot> before_, after_forward_;
    Verdict verdict_ = Verdict::open;
    bool is_agreed_ = false;  ///< whether the processes have agreed on the replay, see `replay_with_others`
    std::string why_, other_thread_;
    std::shared_ptr<OtherThreads> others_;  ///< watches other threads while the step runs
    Bytes peak_;
    std::int64_t alive_before_ = 0, held_ = 0;
};

}  // namespace rematlas
