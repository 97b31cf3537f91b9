// The chain-moment relaxation. Its variables say which tensors a schedule within a budget keeps at the first
// runs of a chain of ops, and which ops the schedule runs in between.
//
//     const ChainMoments relaxation(flat, budget, {.moments = 16});
//     solve_relaxation(relaxation.programme(), ...);        // a bound on the time of every schedule
//     RunSequence runs = relaxation.decode(values);         // of an integer solution: perhaps a schedule
//
// Moment k is the first run of the chain's k-th op b_k. Window k holds the runs between moments k and k + 1.
// The variables are 0 or 1: x[k,o] = 1 if o runs in window k, and a[k,t] = 1 if t is on the device during
// moment k. In every schedule
//     x[k,o] <= a[k,u] + x[k,maker of u]         for each input u of o
//     a[k+1,t] <= a[k,t] + x[k,maker of t]       also after the last window, if t is a result
//     sum over k of x[k,o] >= 1                  o required; k: the windows that its first run can be in
//     sum of bytes(t) a[k,t] + workspace(b_k) - saved by running b_k in place <= budget
// with a[k,t] = 1 for the inputs and outputs of b_k. The time is at least the sum of time(o) x[k,o]. Let I be
// the windows i .. j, and let X[I,o] = 1 if o runs in some window of I. The rows also hold with I in place of
// a window. The rows with I exclude no integer solution, but they exclude fractional solutions that make half
// a tensor twice.
//
// The rows hold for any order and any number of reruns. They count ops with several outputs, runs in place,
// workspaces, results and residents in the same way as the checker.
//
// Two things are left out, and the bound stays valid: variables that no row needs, and the input rows (the
// first kind above) of late reruns. These are the reruns of the op of the fullest moment (the moment with the
// most memory) and of its descendants. Late reruns get their inputs for free, so the program needs no rows
// for the whole backward in every window.
//
// Each memory row limits the total size of the kept tensors. This limit is lowered to the largest total size
// of any subset of these tensors that does not exceed the limit.
//
// Source: the rows of Jain et al. (Checkmate, MLSys 2020), summed over the stages between two moments. Only
// the order of the moments is fixed, not the order of the graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bounds/moment_relaxation.h"
#include "core/schedule/run_sequence.h"

namespace rematlas {

struct ChainMomentsOptions {
    int moments = 0;        ///< the most moments of the chain; 0: all moments
    int join = 4;           ///< how many windows or intervals form the next larger interval; 0: no intervals
    bool suffixes = false;  ///< adds all intervals that end with the last window
};

/// The program minimizes nanoseconds. All columns are 0 or 1, all rows have only a lower limit, and all
/// coefficients are integers. The offset is the time of the runs that every solution has. Columns and rows of
/// intervals come last.
class ChainMoments : public MomentRelaxation {
  public:
    ChainMoments(const FlatGraph& graph, std::int64_t budget, const ChainMomentsOptions& options = {});

    /// Returns the runs of an integer solution, window by window. Within a window the runs are in the graph's
    /// order, or each rerun is right before its first use, whichever has the lower peak. A missing input is
    /// made right before the run that reads it. The sequence is executable, but perhaps over the budget. It
    /// is empty if an op that must not run twice would run twice.
    RunSequence decode(std::span<const double> values) const;

  private:
    struct Interval {
        int first, last;  ///< indices of windows
        Terms runs;       ///< X[I,o] for each op o
    };

    void add_columns();
    void add_rows();
    void add_intervals(const ChainMomentsOptions& options);
    Interval join(std::span<const Interval> parts, const Interval& last);
    void add_interval_rows(const Interval& interval);
    std::vector<int> runs_in(int window, std::span<const double> values) const;
    RunSequence sequence(std::span<const double> values, bool lazy) const;
};

}  // namespace rematlas
