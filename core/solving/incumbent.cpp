#include "core/solving/incumbent.h"

#include <algorithm>

#include "core/solving/answers.h"

namespace rematlas {

bool Incumbent::offer(Candidate candidate) {
    note_peak(Bytes(candidate.peak));
    if (best_ && !candidate.better_than(*best_, budget_.value)) return false;
    best_ = std::move(candidate);
    report();
    return true;
}

bool Incumbent::offer_runs(RunSequence runs) {
    if (runs.empty() || !is_executable(graph_, runs)) return false;
    return offer(Candidate::of(graph_, std::move(runs)));
}

bool Incumbent::offer_solution(const Solution& solution) {
    std::optional<RunSequence> runs = runs_of(solution.steps);
    return runs && offer_runs(*std::move(runs));
}

void Incumbent::settle(Candidate candidate) {
    if (offer(candidate) || best_->better_than(candidate, budget_.value)) return;
    best_ = std::move(candidate);
}

void Incumbent::note_peak(Bytes peak) {
    smallest_peak_ = std::min(smallest_peak_.value_or(peak), peak);
}

void Incumbent::raise_bound(double overhead, ScheduleClass over) {
    const bool higher =
        !bound_ || overhead > bound_->overhead || (overhead == bound_->overhead && over > bound_->over);
    if (higher) bound_ = Bound{.overhead = overhead, .gap = 0, .over = over};
}

void Incumbent::add_bound_work(double seconds, std::optional<std::int64_t> nodes) {
    bound_seconds_ += seconds;
    if (nodes) bound_nodes_ = nodes;
}

void Incumbent::report() {
    if (!fits()) return;
    reported_at_ = deadline_.fraction();
    if (progress_) progress_({overhead(), Bytes(best_->peak), bound(), reported_at_});
}

double Incumbent::overhead() const {
    return graph_.overhead_of(best_->time);
}

std::optional<double> Incumbent::bound() const {
    if (!bound_) return std::nullopt;
    return fits() ? std::min(bound_->overhead, overhead()) : bound_->overhead;
}

bool Incumbent::is_proven(double gap) const {
    return bound_ && fits() && overhead() <= bound_->overhead * (1 + gap);
}

Answer Incumbent::answer() const {
    if (!fits()) return infeasible_from(graph_, budget_, smallest_peak_);
    Solution solution = solution_from(graph_, best_->runs);
    if (solution.bound || !bound_) return solution;
    const double least = *bound();
    solution.bound = Bound{.overhead = least,
                           .gap = gap_above(overhead(), least),
                           .over = bound_->over,
                           .seconds = bound_seconds_,
                           .nodes = bound_nodes_};
    if (is_proven()) solution.status = Status::optimal;
    return solution;
}

}  // namespace rematlas
