#include "core/bounds/chain_moments.h"

#include <algorithm>

namespace rematlas {

ChainMoments::ChainMoments(const FlatGraph& graph, std::int64_t budget, const ChainMomentsOptions& options)
    : MomentRelaxation(graph, budget, moment_chain(graph, budget, options.moments)) {
    add_columns();
    add_rows();
    if (options.join > 1 && moments() > 0) add_intervals(options);
}

void ChainMoments::add_columns() {
    for (int k = 0; k <= moments(); ++k) {
        for (int op = 0; op < graph_.op_count; ++op) {
            if (runs_[k][op] == kAlways) programme_.model.offset += static_cast<double>(graph_.time[op]);
            if (runs_[k][op] == 0) runs_[k][op] = programme_.add_column(graph_.time[op]);
        }
        for (Term& kept : kept_[k]) {
            if (kept == 0) kept = programme_.add_column(0);
        }
    }
}

void ChainMoments::add_rows() {
    for (int k = 0; k <= moments(); ++k) {
        for (int op = 0; op < graph_.op_count; ++op) {
            if (runs_[k][op] == kNever || !has_input_rows(op, k)) continue;
            for (int t : graph_.inputs[op])
                programme_.add_implication(runs_[k][op], kept_[k][t], runs_[k][graph_.producer[t]]);
        }
        for (int t = 0; t < graph_.tensor_count; ++t) {
            const Term at_end = graph_.is_result[t] ? kAlways : kNever;
            const Term after = k < moments() ? kept_[k + 1][t] : at_end;
            // The tensors that the next moment's op reads or makes need no row here: the rows of that op
            // cover them.
            if (after == kNever || (after == kAlways && k < moments())) continue;
            programme_.add_implication(after, kept_[k][t], runs_[k][graph_.producer[t]]);
        }
        if (k == 0) continue;
        add_memory_row(k, budget_ - graph_.resident_bytes + graph_.saved_in_place(op_of(k)));
    }
    for (int op = 0; op < graph_.op_count; ++op) {
        if (graph_.required[op] && windows_.first[op] < windows_.last[op]) add_sum_row(op);
    }
}

// The tree of intervals covers the windows from the fullest moment (the one with the most memory) on. Its
// largest interval begins with the fullest moment, so the program proves at least the bound of this moment
// alone. The windows before the fullest moment are then joined to that interval one by one.
void ChainMoments::add_intervals(const ChainMomentsOptions& options) {
    std::vector<Interval> level;
    for (int k = chain_.fullest + 1; k <= moments(); ++k) level.push_back({k, k, runs_[k]});
    if (options.suffixes) {
        Interval suffix = level.back();
        for (std::size_t i = level.size() - 1; i-- > 0;) suffix = join({&level[i], 1}, suffix);
    }
    while (level.size() > 1) {
        std::vector<Interval> next;
        for (std::size_t i = 0; i < level.size(); i += static_cast<std::size_t>(options.join)) {
            const std::size_t count = std::min(static_cast<std::size_t>(options.join), level.size() - i);
            next.push_back(count == 1 ? level[i] : join({&level[i], count - 1}, level[i + count - 1]));
        }
        level = std::move(next);
    }
    for (int k = chain_.fullest; k > 0; --k) {
        const Interval window{k, k, runs_[k]};
        level.front() = join({&window, 1}, level.front());
    }
}

/// Joins neighbouring intervals: first `parts`, then `last`.
ChainMoments::Interval ChainMoments::join(std::span<const Interval> parts, const Interval& last) {
    Interval joined{parts.front().first, last.last, Terms(graph_.op_count, kNever)};
    for (int op = 0; op < graph_.op_count; ++op) {
        Entries some;
        for (const Interval& part : parts) {
            if (part.runs[op] != kNever) some.push_back({part.runs[op], 1});
        }
        if (last.runs[op] != kNever) some.push_back({last.runs[op], 1});
        if (some.empty()) continue;
        Term& run = joined.runs[op];
        const bool always =
            (graph_.required[op] && joined.first <= windows_.first[op] && windows_.last[op] <= joined.last) ||
            std::any_of(some.begin(), some.end(), [](const Entry& e) { return e.first == kAlways; });
        if (always) {
            run = kAlways;
        } else if (some.size() == 1) {
            run = some.front().first;
        } else {
            run = programme_.add_column(0);
            for (const Entry& part : some) programme_.add_row(0, {{run, 1}, {part.first, -1}});
            some.push_back({run, -1});
            programme_.add_row(0, some);
        }
    }
    add_interval_rows(joined);
    return joined;
}

// The reruns of a late op (see `late_`) have no input rows in the windows. So its runs in the interval have
// input rows only if these runs cannot be reruns, or if the first run is among them.
void ChainMoments::add_interval_rows(const Interval& interval) {
    for (int op = 0; op < graph_.op_count; ++op) {
        const bool with_first =
            graph_.required[op] && interval.first <= windows_.first[op] && windows_.last[op] <= interval.last;
        if (interval.runs[op] == kNever || !(has_input_rows(op, interval.last) || with_first)) continue;
        for (int t : graph_.inputs[op])
            programme_.add_implication(interval.runs[op], kept_[interval.first][t],
                                       interval.runs[graph_.producer[t]]);
    }
    for (int t = 0; t < graph_.tensor_count; ++t) {
        const Term after = interval.last < moments() ? kept_[interval.last + 1][t]
                           : graph_.is_result[t]     ? kAlways
                                                     : kNever;
        if (after != kNever)
            programme_.add_implication(after, kept_[interval.first][t], interval.runs[graph_.producer[t]]);
    }
}

RunSequence ChainMoments::decode(std::span<const double> values) const {
    RunSequence eager = sequence(values, false), lazy = sequence(values, true);
    if (!is_executable(graph_, eager)) return is_executable(graph_, lazy) ? lazy : RunSequence{};
    if (!is_executable(graph_, lazy)) return eager;
    return cost_of(graph_, eager).peak <= cost_of(graph_, lazy).peak ? eager : lazy;
}

/// Returns the ops that run in the window, in the graph's order. The op of the next moment is last, because
/// its first run ends the window.
std::vector<int> ChainMoments::runs_in(int window, std::span<const double> values) const {
    const int closing = window < moments() ? op_of(window + 1) : -1;
    std::vector<int> ops;
    for (int op = 0; op < graph_.op_count; ++op) {
        const Term run = runs_[window][op];
        if (op != closing && (run == kAlways || (run >= 0 && values[run] > 0.5))) ops.push_back(op);
    }
    if (closing >= 0) ops.push_back(closing);
    return ops;
}

/// Returns the runs of all windows. With `lazy`, each rerun is right before its first use in the window.
/// Otherwise the runs of a window are in the graph's order.
RunSequence ChainMoments::sequence(std::span<const double> values, bool lazy) const {
    RunSequence runs;
    std::vector<int> made_in(graph_.op_count, -1), planned_in(graph_.op_count, -1);
    const auto run = [&](auto& self, int op, int window) -> void {
        made_in[op] = window;
        for (int t : graph_.inputs[op]) {
            const int maker = graph_.producer[t];
            const bool again = planned_in[maker] == window && made_in[maker] < window;
            if (again || made_in[maker] < 0) self(self, maker, window);
        }
        runs.push_back(op);
    };
    for (int k = 0; k <= moments(); ++k) {
        const std::vector<int> ops = runs_in(k, values);
        for (int op : ops) planned_in[op] = k;
        const auto run_those = [&](bool new_ones) {
            for (int op : ops) {
                if (made_in[op] < k && (!new_ones || made_in[op] < 0) && op != ops.back()) run(run, op, k);
            }
        };
        if (lazy) run_those(true);
        run_those(false);
        if (!ops.empty() && made_in[ops.back()] < k) run(run, ops.back(), k);
    }
    return runs;
}

}  // namespace rematlas
