#include "core/bounds/two_sided_moments.h"

#include <algorithm>
#include <utility>

namespace rematlas {

TwoSidedMoments::TwoSidedMoments(const FlatGraph& graph, std::int64_t budget, MomentChain chain,
                                 const HostLinks& links, int margin_rows, std::span<const HostOp> host_ops)
    : MomentRelaxation(graph, budget, std::move(chain)),
      links_(links),
      margin_rows_(margin_rows),
      lineage_(graph),
      runs_from_(moments() + 1, Terms(graph.op_count, kNever)),
      fetched_(moments() + 1, Terms(graph.tensor_count, kNever)),
      fetched_from_(fetched_),
      copied_(fetched_),
      least_(moments() + 1, 0) {
    add_columns();
    add_suffixes();
    for (int k = 0; k <= moments(); ++k) add_window_rows(k);
    for (int k = 1; k <= moments(); ++k) {
        add_rows_from(k);
        const std::int64_t residents = links_.activations_only ? graph_.resident_bytes : 0;
        add_memory_row(k, budget_ - residents + saved_in_place(op_of(k)));
    }
    add_link_rows();
    if (!host_ops.empty()) add_host_rows(host_ops);
}

std::int64_t TwoSidedMoments::most_time() const {
    return 16 * std::max<std::int64_t>(graph_.base_time, 1);
}

// The program does not cover schedules that take longer than `most_time`, so no bound can be above that time.
std::int64_t TwoSidedMoments::bound(const DualValue& value) const {
    return value.infeasible ? most_time() : std::min(value.bound, most_time());
}

void TwoSidedMoments::add_columns() {
    for (int k = 0; k <= moments(); ++k) {
        for (int op = 0; op < graph_.op_count; ++op) {
            if (runs_[k][op] == kAlways) least_[k] += graph_.time[op];
            if (runs_[k][op] == 0) runs_[k][op] = programme_.add_column(0);
        }
        for (int t = 0; t < graph_.tensor_count; ++t) {
            const Term before = k > 0 ? copied_[k - 1][t] : kNever;
            copied_[k][t] = before;
            if (kept_[k][t] != 0) continue;
            kept_[k][t] = programme_.add_column(0);
            fetched_[k][t] = programme_.add_column(0);
            fetched_from_[k][t] = k < moments() ? programme_.add_column(0) : fetched_[k][t];
            const bool only_fetched = before == kNever && !graph_.is_result[t];
            copied_[k][t] = only_fetched ? fetched_from_[k][t] : programme_.add_column(0);
        }
        time_.push_back(programme_.add_column(most_time()));
        programme_.model.offset += static_cast<double>(least_[k]);
    }
}

/// Adds the columns X, from the last window to the first.
void TwoSidedMoments::add_suffixes() {
    runs_from_[moments()] = runs_[moments()];
    for (int k = moments() - 1; k >= 1; --k) {
        for (int op = 0; op < graph_.op_count; ++op) {
            const Term now = runs_[k][op], later = runs_from_[k + 1][op];
            const bool always =
                now == kAlways || later == kAlways || (graph_.required[op] && windows_.first[op] >= k);
            Term& run = runs_from_[k][op];
            if (always) {
                run = kAlways;
            } else if (now == kNever || later == kNever) {
                run = now == kNever ? later : now;
            } else {
                run = programme_.add_column(0);
                programme_.add_row(0, {{run, 1}, {now, -1}});
                programme_.add_row(0, {{run, 1}, {later, -1}});
                programme_.add_row(0, {{now, 1}, {later, 1}, {run, -1}});
            }
        }
    }
}

void TwoSidedMoments::add_window_rows(int k) {
    for (int op = 0; op < graph_.op_count; ++op) {
        if (k == windows_.first[op] && graph_.required[op] && k < windows_.last[op]) add_sum_row(op);
        if (runs_[k][op] == kNever || !has_input_rows(op, k)) continue;
        for (int t : graph_.inputs[op])
            programme_.add_implication(runs_[k][op], kept_[k][t], runs_[k][graph_.producer[t]],
                                       fetched_[k][t]);
    }
    for (int t = 0; k < moments() && t < graph_.tensor_count; ++t) {
        // The tensors that the next moment's op reads or makes need no row here: the rows of that op cover
        // them.
        if (kept_[k + 1][t] < 0) continue;
        const Term made = runs_[k][graph_.producer[t]];
        programme_.add_implication(kept_[k + 1][t], kept_[k][t], made, fetched_[k][t]);
        if (kept_[k][t] == kAlways || made == kAlways) continue;
        programme_.add_row(0, {{kept_[k + 1][t], -1},
                               {fetched_from_[k + 1][t], -1},
                               {kept_[k][t], 1},
                               {fetched_from_[k][t], 1},
                               {made, 1}});
        if (graph_.is_result[t])
            programme_.add_row(0, {{copied_[k + 1][t], -1}, {copied_[k][t], 1}, {kept_[k][t], 1}, {made, 1}});
    }
}

// An input row says where a run finds one of its inputs (x[k,o] <= ... and X[k,o] <= ... in the header). An
// op that is not late (see `late_`) has input rows for X. The reruns of a late op have no input rows for x.
// So a late op has input rows for X in two cases only: if no run from moment k on can be a rerun, or if the
// first run is among these runs.
void TwoSidedMoments::add_rows_from(int k) {
    for (int op = 0; op < graph_.op_count && k < moments(); ++op) {
        const bool with_first = graph_.required[op] && k <= windows_.first[op];
        if (runs_from_[k][op] == kNever || !(has_input_rows(op, moments()) || with_first)) continue;
        for (int t : graph_.inputs[op])
            programme_.add_implication(runs_from_[k][op], kept_[k][t], runs_from_[k][graph_.producer[t]],
                                       fetched_from_[k][t]);
    }
    for (int t = 0; t < graph_.tensor_count; ++t) {
        if (graph_.is_result[t]) add_end_rows(k, t);
        const Term from = fetched_from_[k][t], before = copied_[k - 1][t];
        if (kept_[k][t] < 0) continue;
        if (copied_[k][t] != from) programme_.add_row(0, {{copied_[k][t], 1}, {from, -1}});
        if (before != kNever) programme_.add_row(0, {{copied_[k][t], 1}, {before, -1}});
        if (k == moments()) continue;
        programme_.add_row(0, {{from, 1}, {fetched_[k][t], -1}});
        programme_.add_implication(from, fetched_[k][t], fetched_from_[k + 1][t]);
    }
}

void TwoSidedMoments::add_end_rows(int k, int result) {
    const Term copied = links_.activations_only ? fetched_from_[k][result] : copied_[k][result];
    programme_.add_implication(kAlways, kept_[k][result], runs_from_[k][graph_.producer[result]], copied);
}

// Returns an upper bound on the bytes that a run in place can save. The flat graph has no in-place pairs for
// inputs that are results and can be made only once. But such an input may be overwritten if a copy of it can
// come back from the host.
std::int64_t TwoSidedMoments::saved_in_place(int op) const {
    std::int64_t inputs = 0, outputs = 0;
    bool reads_result = false;
    for (int t : graph_.inputs[op]) {
        inputs += graph_.bytes[t];
        reads_result |= graph_.is_result[t] != 0;
    }
    for (int t : graph_.outputs[op]) outputs += graph_.bytes[t];
    return reads_result ? std::min(inputs, outputs) : graph_.saved_in_place(op);
}

}  // namespace rematlas
