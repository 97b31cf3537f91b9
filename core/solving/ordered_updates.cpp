#include "core/solving/ordered_updates.h"

#include <optional>
#include <set>

#include "core/schedule/update_order.h"
#include "core/solving/answers.h"

namespace rematlas {
namespace {

class InOrder {
  public:
    InOrder(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
            const Progress& progress)
        : problem_(problem),
          solver_(solver),
          budget_(budget),
          limits_(limits),
          deadline_(limits),
          progress_(progress),
          updates_(updates_of(problem.graph)),
          ordered_(in_order_of_updates(problem.graph)) {}

    Answer solve() {
        const bool in_any_order = updates_.empty() && !ordered_.differs;
        if (in_any_order || problem_.copies.what != Offload::none)
            return solver_.solve(problem_, budget_, limits_, progress_);
        Answer answer = solve_ordered();
        auto* found = std::get_if<Solution>(&answer);
        const auto runs = found ? runs_of(found->steps) : std::nullopt;
        if (!runs && ordered_.runs_once) return not_found();
        if (!runs) return answer;
        Solution ordered = in_order(*runs);
        if (ordered.peak > budget_) return solve_strictly();
        if (ordered_.runs_once) return ordered;
        ordered.status = found->status;
        ordered.bound = found->bound;
        return ordered;
    }

  private:
    Answer solve_ordered() const {
        if (!ordered_.differs) return solver_.solve(problem_, budget_, half_of_what_is_left(), progress_);
        const FlatGraph flat = flatten(ordered_.graph);
        return solver_.solve({ordered_.graph, flat}, budget_, half_of_what_is_left(), progress_);
    }

    Limits half_of_what_is_left() const { return limits_.with_time(deadline_.left() / 2); }

    /// Moves each update after the last run of the ops that read the old value of the updated tensor. Notes
    /// in `late_` the updates that had to move.
    Solution in_order(const RunSequence& runs) {
        const RunSequence ordered = behind_readers(updates_, problem_.graph.ops.size(), runs);
        std::vector<std::size_t> last(problem_.graph.ops.size());
        for (std::size_t i = 0; i < runs.size(); ++i) last[static_cast<std::size_t>(runs[i])] = i;
        for (const Update& update : updates_)
            for (OpId reader : update.readers)
                if (last[reader.index()] > last[update.op.index()]) late_.insert(update.op);
        Solution solution = solution_from(problem_.flat, ordered);
        smallest_ = std::min(smallest_.value_or(solution.peak), solution.peak);
        return solution;
    }

    Answer solve_strictly() {
        for (std::size_t before = 0; before < late_.size() && !solver_.is_of_one_problem();) {
            before = late_.size();
            const std::vector<OpId> updates(late_.begin(), late_.end());
            const Reordered strict = with_last(ordered_.graph, updates);
            const FlatGraph flat = flatten(strict.graph);
            const Answer answer =
                solver_.solve({strict.graph, flat}, budget_, half_of_what_is_left(), progress_);
            const auto* found = std::get_if<Solution>(&answer);
            const auto runs = found ? runs_of(found->steps) : std::nullopt;
            if (!runs) break;
            RunSequence ours;
            for (const std::int32_t op : *runs)
                ours.push_back(strict.op_of[static_cast<std::size_t>(op)].value);
            Solution ordered = in_order(ours);
            if (ordered.peak <= budget_) return ordered;
        }
        return not_found();
    }

    Infeasible not_found() const {
        Infeasible none = infeasible_from(problem_.flat, budget_, smallest_);
        none.reason = late_.empty() ? "what reads a tensor before it is updated was not run again"
                                    : "updates of the optimizer that wait for reruns did not fit";
        return none;
    }

    const Problem& problem_;
    const Solver& solver_;
    const Bytes budget_;
    const Limits& limits_;
    const Deadline deadline_;
    const Progress& progress_;
    const std::vector<Update> updates_;
    const InOrderOfUpdates ordered_;
    std::set<OpId> late_;  ///< updates that the solver put before a run of an op that reads the old value
    std::optional<Bytes> smallest_;
};

}  // namespace

Answer solve_in_order(const Problem& problem, const Solver& solver, Bytes budget, const Limits& limits,
                      const Progress& progress) {
    return InOrder(problem, solver, budget, limits, progress).solve();
}

bool has_ordered_updates(const Graph& graph) {
    return !updates_of(graph).empty() || in_order_of_updates(graph).differs;
}

}  // namespace rematlas
