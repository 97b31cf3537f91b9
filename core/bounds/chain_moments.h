// The chain-moment relaxation: what any schedule within a budget runs and keeps, seen at the first runs of a
// chain of ops.
//
//     const ChainMoments relaxation(flat, budget, {.moments = 16});
//     solve_relaxation(relaxation.programme(), ...);        // a bound on the time of every schedule
//     RunSequence runs = relaxation.decode(values);         // of a whole solution: perhaps a schedule
//
// Moment k is the first run of the chain's k-th op b_k, window k what runs between moments k and k + 1. Whole
// variables: x[k,o], o runs in window k; a[k,t], t is on the device during moment k. In every schedule
//     x[k,o] <= a[k,u] + x[k,maker of u]         for each input u of o
//     a[k+1,t] <= a[k,t] + x[k,maker of t]       and the same after the last window for results
//     sum over k of x[k,o] >= 1                  required o, over the windows its first run can be in
//     sum of bytes(t) a[k,t] + workspace(b_k) - what b_k saves by running in place <= budget
// with a[k,t] = 1 for the inputs and outputs of b_k, and the time is at least the sum of time(o) x[k,o]. With
// I = windows i .. j and X[I,o], o runs in some window of I, the rows also hold for I in place of a window;
// whole solutions gain nothing by that, fractional ones do: they may not make half a tensor twice.
//
// Any order, any number of reruns; ops with several outputs, runs in place, workspaces, results and residents
// as the checker counts them.
//
// Pruned without loss of validity: variables that no row needs; input rows of reruns of ops that descend from
// the fullest moment (their inputs are then free), which keeps the programme from unrolling the backward
// part in every window. Sizes of a memory row are replaced by the largest subset sum of its tensors.
//
// Source: the rows of Jain et al. (Checkmate, MLSys 2020), summed over the stages between two moments, where
// only the order of the moments is given and not that of the graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bounds/moment_chain.h"
#include "core/bounds/term_programme.h"
#include "core/graph/flat_graph.h"
#include "core/milp/milp.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

struct ChainMomentsOptions {
    int moments = 0;        ///< at most so many of the chain; 0: all
    int join = 4;           ///< so many windows or intervals make the next larger interval; 0: no intervals
    bool suffixes = false;  ///< also all intervals that end with the last window
};

class ChainMoments {
  public:
    ChainMoments(const FlatGraph& graph, std::int64_t budget, const ChainMomentsOptions& options = {});

    /// Minimizes nanoseconds; all columns in [0, 1] and whole, all rows at least, all numbers whole. The
    /// offset is what runs for sure. Columns and rows of intervals come last.
    const MilpModel& programme() const { return programme_.model; }

    /// True when a row cannot be kept: no schedule fits the budget.
    bool impossible() const { return programme_.impossible(); }

    int moments() const { return static_cast<int>(chain_.ops.size()); }

    /// The runs of a whole solution, window by window, in the graph's order within one. Missing inputs are
    /// made right before. The result is executable, and may be over the budget; empty where an op would run
    /// twice that must not.
    RunSequence decode(std::span<const double> values) const;

  private:
    using Entry = TermProgramme::Entry;

    struct Interval {
        int first, last;  ///< windows
        Terms runs;       ///< X[I,o] per op
    };

    void find_needed();
    void need(int window, int tensor);
    void add_columns();
    void add_rows();
    void add_memory_row(int moment);
    void add_intervals(const ChainMomentsOptions& options);
    Interval join(std::span<const Interval> parts, const Interval& last);
    void add_interval_rows(const Interval& interval);
    void add_sum_row(int op);

    int op_of(int moment) const { return chain_.ops[moment - 1]; }
    std::vector<int> runs_in(int window, std::span<const double> values) const;
    RunSequence sequence(std::span<const double> values, bool lazy) const;
    bool has_input_rows(int op, int last_window) const {
        return !late_[op] || last_window <= windows_.last[op];
    }

    const FlatGraph& graph_;
    std::int64_t budget_;
    MomentChain chain_;
    MomentWindows windows_;
    std::vector<std::uint8_t> late_;  ///< per op: b_fullest or a descendant of it
    std::vector<Terms> runs_;         ///< [window][op]
    std::vector<Terms> kept_;         ///< [moment][tensor]; moment 0 is the start, with nothing made yet
    TermProgramme programme_;
};

}  // namespace rematlas
