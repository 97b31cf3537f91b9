#include "core/bounds/moment_relaxation.h"

#include <utility>

#include "core/bounds/subset_sum.h"

namespace rematlas {

MomentRelaxation::MomentRelaxation(const FlatGraph& graph, std::int64_t budget, MomentChain chain)
    : graph_(graph),
      budget_(budget),
      chain_(std::move(chain)),
      windows_(moment_windows(graph, chain_)),
      late_(graph.op_count, 0),
      runs_(moments() + 1, Terms(graph.op_count, kNever)),
      kept_(moments() + 1, Terms(graph.tensor_count, kNever)) {
    for (int op = 0; op < graph.op_count && chain_.fullest >= 0; ++op)
        late_[op] = op == chain_.ops[chain_.fullest] || windows_.first[op] > chain_.fullest;
    find_needed();
}

// Goes from the last window to the first and marks the variables that some row needs: the inputs of required
// runs, the runs that make these inputs, the moments at which these inputs are kept, and so on. A mark is
// column 0.
void MomentRelaxation::find_needed() {
    for (int k = 1; k <= moments(); ++k) {
        for (const auto list : {graph_.inputs[op_of(k)], graph_.outputs[op_of(k)]}) {
            for (int t : list) kept_[k][t] = kAlways;
        }
    }
    for (int k = moments(); k >= 0; --k) {
        for (int t = 0; t < graph_.tensor_count; ++t) {
            const bool after = k == moments() ? graph_.is_result[t] : kept_[k + 1][t] == 0;
            if (after) need(k, t);
        }
        for (int op = graph_.op_count; op-- > 0;) {
            const bool first = graph_.required[op] && windows_.first[op] <= k && k <= windows_.last[op];
            if (first) runs_[k][op] = windows_.first[op] == windows_.last[op] ? kAlways : 0;
            if (runs_[k][op] == kNever || !has_input_rows(op, k)) continue;
            for (int t : graph_.inputs[op]) need(k, t);
        }
    }
}

/// Marks the ways to provide a tensor that is read by a run in the window or needed after the window.
void MomentRelaxation::need(int window, int tensor) {
    if (kept_[window][tensor] == kAlways) return;
    const int maker = graph_.producer[tensor];
    if (windows_.first[maker] < window) kept_[window][tensor] = 0;
    const bool may_run =
        windows_.first[maker] <= window && (graph_.recomputable[maker] || window <= windows_.last[maker]);
    if (may_run && runs_[window][maker] == kNever) runs_[window][maker] = 0;
}

void MomentRelaxation::add_sum_row(int op) {
    Entries entries;
    for (int k = windows_.first[op]; k <= windows_.last[op]; ++k) entries.push_back({runs_[k][op], 1});
    programme_.add_row(1, entries);
}

void MomentRelaxation::add_memory_row(int moment, std::int64_t room) {
    room -= graph_.workspace[op_of(moment)];
    Entries entries;
    std::vector<std::int64_t> sizes;
    for (int t = 0; t < graph_.tensor_count; ++t) {
        if (kept_[moment][t] == kAlways) room -= graph_.bytes[t];
        if (kept_[moment][t] < 0 || graph_.bytes[t] == 0) continue;
        entries.push_back({kept_[moment][t], -graph_.bytes[t]});
        sizes.push_back(graph_.bytes[t]);
    }
    if (room < 0) return programme_.declare_impossible();
    programme_.add_row(-largest_subset_sum(std::move(sizes), room), entries);
}

}  // namespace rematlas
