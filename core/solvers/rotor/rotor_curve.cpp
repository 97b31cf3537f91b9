#include "core/solvers/rotor/rotor_curve.h"

#include <algorithm>

#include "core/schedule/run_sequence.h"
#include "core/solving/answers.h"

namespace rematlas {
namespace {

/// Both tables stay within about 4 GiB: lists grow to some four times what is kept exactly.
int slots_in_memory(std::size_t stages, int wanted) {
    const std::size_t parts = std::max<std::size_t>(stages, 1) * (stages + 1);
    const std::size_t most = (std::size_t{4} << 30) / (parts * sizeof(TradeOff) * 4);
    return static_cast<int>(std::clamp<std::size_t>(most, 10, static_cast<std::size_t>(wanted)));
}

/// Ops that may run once only run at their first place.
RunSequence run_once_where_needed(const FlatGraph& flat, const RunSequence& runs) {
    std::vector<std::uint8_t> ran(flat.op_count, 0);
    RunSequence kept;
    for (const std::int32_t op : runs) {
        if (ran[op] && !flat.recomputable[op]) continue;
        ran[op] = 1;
        kept.push_back(op);
    }
    return kept;
}

}  // namespace

RotorCurve::RotorCurve(std::string_view name, std::string_view summary, const Problem& problem,
                       RotorChain chain, Bytes largest, int slots, const Deadline& deadline)
    : name_(name),
      summary_(summary),
      full_(cost_of(problem.flat, required_once(problem.flat)).peak),
      chain_(std::move(chain)),
      table_(chain_.stages, most_beside(largest), slots_in_memory(chain_.stages.size(), slots)) {
    if (chain_.stages.size() < 2 || !table_.fill(deadline)) return;
    filled_ = true;
    peaks_.resize(table_.curve().size());
}

Answer RotorCurve::solve(const Problem& problem, Bytes budget, const Limits& limits,
                         const Progress& progress) const {
    const Deadline deadline(limits);
    if (auto solution = optimal_without_reruns(problem.flat, budget)) return *solution;
    if (chain_.stages.size() < 2) return no_chain(infeasible_from(problem.flat, budget, Bytes(full_)));
    std::optional<Bytes> smallest;
    for (std::size_t i = peaks_.size(); i-- > 0 && !deadline.passed();) {
        if (table_.curve()[i].bytes > most_beside(budget)) continue;
        const Bytes peak = peak_of(problem.flat, i);
        if (!smallest || peak < *smallest) smallest = peak;
        if (peak > budget) continue;
        Solution solution = solution_from(problem.flat, runs_of(problem.flat, i));
        if (progress)
            progress({.overhead = solution.overhead, .peak = solution.peak, .bound = {}, .fraction_done = 1});
        return solution;
    }
    Infeasible answer = infeasible_from(problem.flat, budget, smallest);
    if (!filled_) answer.reason = "it was stopped before the table of its chain was full";
    return answer;
}

/// Beside what is always there. Memory is tried up to a little above what the budget leaves, because what the
/// chain does not see leaves some unused.
std::int64_t RotorCurve::most_beside(Bytes budget) const {
    const std::int64_t available = std::max<std::int64_t>(budget.value - chain_.always, 1);
    const std::int64_t above = std::min(available * 2, available + available / 8 + chain_.always);
    return std::max(std::min(above, full_), available);
}

RunSequence RotorCurve::runs_of(const FlatGraph& flat, std::size_t i) const {
    const RunSequence runs = runs_within(chain_, table_, table_.curve()[i].bytes);
    return without_useless(flat, run_once_where_needed(flat, runs));
}

Bytes RotorCurve::peak_of(const FlatGraph& flat, std::size_t i) const {
    if (!peaks_[i]) peaks_[i] = Bytes(cost_of(flat, runs_of(flat, i)).peak);
    return *peaks_[i];
}

}  // namespace rematlas
