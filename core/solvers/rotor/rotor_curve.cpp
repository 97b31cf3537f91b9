#include "core/solvers/rotor/rotor_curve.h"

#include <algorithm>

#include "core/schedule/run_sequence.h"
#include "core/solving/answers.h"

namespace rematlas {
namespace {

/// Returns `runs` without the second and later runs of ops that may run only once.
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

RotorLevel::RotorLevel(const FlatGraph& flat, RotorChain chain)
    : flat_(flat), chain_(std::move(chain)), full_(cost_of(flat, required_once(flat)).peak) {}

void RotorLevel::fill(Bytes largest, int slots, const Deadline& deadline) {
    if (chain_.stages.size() > RotorTable::kMostStages) return;
    table_.emplace(chain_.stages, most_beside(largest), slots);
    if (!table_->fill(deadline)) return;
    filled_ = true;
    peaks_.resize(table_->curve().size());
}

std::optional<RunSequence> RotorLevel::best_within(Bytes budget, const Deadline& deadline,
                                                   std::optional<Bytes>& smallest) {
    const auto fits = [&](std::size_t i) {
        const Bytes peak = peak_of(i);
        smallest = smallest ? std::min(*smallest, peak) : peak;
        return peak <= budget;
    };
    // According to the bytes in the table, the first `sure` steps of the curve fit the budget. The last of
    // these steps is the answer if the deadline passes. Later steps are faster, and perhaps their exact peaks
    // fit, too.
    std::size_t sure = peaks_.size();
    while (sure > 0 && table_->curve()[sure - 1].bytes > budget.value - chain_.always) --sure;
    const bool has_sure = sure > 0 && fits(sure - 1);
    for (std::size_t i = peaks_.size(); i-- > (has_sure ? sure : 0) && !deadline.passed();)
        if (table_->curve()[i].bytes <= most_beside(budget) && fits(i)) return runs_of(i);
    if (has_sure) return runs_of(sure - 1);
    return std::nullopt;
}

/// Returns the largest number of bytes, without `RotorChain::always`, at which a sequence is tried. This is a
/// little more than the budget leaves, because the table counts some bytes that a schedule does not need.
std::int64_t RotorLevel::most_beside(Bytes budget) const {
    const std::int64_t available = std::max<std::int64_t>(budget.value - chain_.always, 1);
    const std::int64_t above = std::min(available * 2, available + available / 8 + chain_.always);
    return std::max(std::min(above, full_), available);
}

RunSequence RotorLevel::runs_of(std::size_t i) const {
    const RunSequence runs = runs_within(chain_, *table_, table_->curve()[i].bytes);
    return without_useless(flat_, run_once_where_needed(flat_, runs));
}

Bytes RotorLevel::peak_of(std::size_t i) {
    if (!peaks_[i]) peaks_[i] = Bytes(cost_of(flat_, runs_of(i)).peak);
    return *peaks_[i];
}

RotorCurve::RotorCurve(std::string_view name, const Problem& problem, std::vector<RotorChain> chains,
                       Bytes largest, int slots, const Deadline& deadline)
    : name_(name), full_(cost_of(problem.flat, required_once(problem.flat)).peak) {
    for (std::size_t i = 0; i < chains.size(); ++i) {
        auto level = std::make_unique<RotorLevel>(problem.flat, std::move(chains[i]));
        if (!level->is_chain()) continue;
        level->fill(largest, slots, deadline);
        whole_ = level->filled() && i + 1 == chains.size();
        if (!level_ || level->filled()) level_ = std::move(level);
    }
}

Answer RotorCurve::solve(const Problem& problem, Bytes budget, const Limits& limits,
                         const Progress& progress) const {
    const Deadline deadline(limits);
    if (auto solution = optimal_without_reruns(problem.flat, budget)) return *solution;
    if (!level_) return no_chain(infeasible_from(problem.flat, budget, Bytes(full_)));
    std::optional<Bytes> smallest;
    if (auto runs = level_->best_within(budget, deadline, smallest)) {
        Solution solution = solution_from(problem.flat, *runs);
        if (progress)
            progress({.overhead = solution.overhead, .peak = solution.peak, .bound = {}, .fraction_done = 1});
        return solution;
    }
    Infeasible answer = infeasible_from(problem.flat, budget, smallest);
    if (!whole_) answer.reason = "it was stopped before the table of its chain was full";
    return answer;
}

Answer CurveSolver::solve(const Problem& problem, Bytes budget, const Limits& limits,
                          const Progress& progress) const {
    if (auto solution = optimal_without_reruns(problem.flat, budget)) return *std::move(solution);
    const Deadline deadline(limits);
    const std::unique_ptr<Solver> curve = up_to(problem, budget, limits);
    return curve->solve(problem, budget, limits.with_time(deadline.left()), progress);
}

}  // namespace rematlas
