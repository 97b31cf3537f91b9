// The relaxation of a chain of moments for schedules that also copy tensors to the host and back: every link
// has to be done with what leaves before a moment, and with what comes back after it.
//
//     const TwoSidedMoments relaxation(flat, budget, moment_chain(flat, budget, 1), fastest_of(device.links));
//     const std::int64_t time = relaxation.bound(solve_relaxation(relaxation.programme(), ...).value);
//
// Moments, windows, x[k,o] (o runs in window k) and a[k,t] (t is on the device during moment k) are those of
// chain_moments.h. Beside them stand
//     X[k,o]   o runs in window k or a later one
//     F[k,t]   t is not there during moment k, and the first thing that brings it back is a fetch
//     f[k,t]   the same, and that fetch is in window k
//     c[k,t]   some copy of t to the host was done before moment k began
//     W[k]     the time from the end of moment k to the end of moment k + 1; W[0] starts with the step, and the
//              last one ends with it, when all copies are done.
// Minimized is the sum of all W[k].
//
// Rows, and why they hold in every valid schedule, with any order and reruns, and with any number of copies of
// a tensor each way; let b be the op of moment k, M(t) the maker of t:
//   x[k,o] <= a[k,u] + x[k,M(u)] + f[k,u]           input u of o. u was there when the window began, or the
//   X[k,o] <= a[k,u] + X[k,M(u)] + F[k,u]           first thing that brought it was a run or a fetch.
//   a[k+1,t] <= a[k,t] + x[k,M(t)] + f[k,t]         The same of what is there at the end of the window.
//   a[k+1,t] + F[k+1,t] <= a[k,t] + F[k,t] + x[k,M(t)]
//                                                   What comes by a fetch after moment k + 1 without having been
//                                                   there since that moment has its copy from before. Had it not
//                                                   been there during moment k, nor been made in window k, then
//                                                   the first thing that brings it after moment k is a fetch.
//   f[k,t] <= F[k,t] <= f[k,t] + F[k+1,t]           That fetch is in window k, or nothing brings t before moment
//                                                   k + 1, and then it is the first after that moment, too.
//   F[k,t] <= c[k,t], c[k,t] <= c[k+1,t]            A fetch reads a copy. Since t was not there after moment k
//                                                   until the fetch, the copy was begun before, and the step
//                                                   that took t off the device had waited for it.
//   W[k] >= sum of time(o) x[k,o]                   Runs follow each other on one clock.
//   W[0] + .. + W[k-1] - time(b) >= r + sum of out(t) c[k,t] over any set of tensors, with
//        r = the least over the set of the time of those of M(t) and its ancestors that must run before moment k.
//        The copies are done when moment k begins; none begins before t is made, when M(t) and its ancestors
//        have run; a link makes one copy at a time. With no copy the row is about runs alone, and holds too.
//   W[k] + .. + W[m] >= s + sum of in(t) F[k,t] over any set of tensors, with s = the least over the set of what
//        must run after the fetch. It begins after moment k; the required users of t that cannot run before
//        moment k wait for it, and all that must descend from them waits for these. All this runs after moment
//        k in any case, so that the row holds with no fetch, too.
//   W[k] + .. + W[m] >= sum of in(t) f[j,t]         j >= k. Fetches in different windows are different.
//   the memory row of chain_moments.h               A fetch takes its bytes at once, so that what is on its way
//                                                   is there.
//   1 <= a[m,t] + x[m,M(t)] + c[m,t]                t a result, that ends on the host if it is not on the device,
//                                                   and so for X, k; with `activations_only` F in place of c.
// Where ops may run on the host (host_ops.h) the graph is the step without them, and there are
//     h[i]     op i of these runs on the host
//     e[t]     t is copied to the host at some time
// with these rows over the whole step, in which each of them runs once, here or there:
//   e[t] >= c[m,t], e[t] >= h[i]                    t an input of op i, made on the device
//   W[0] + .. + W[m] >= sum of time(o) x[k,o] + sum of time(i) (1 - h[i])
//   W[0] + .. + W[m] >= r + sum of host_time(i) h[i] over any set of these ops, with r = the least over the set of
//        the time of what must run before the inputs of op i are there. Ops on the host follow each other.
//   W[0] + .. + W[m] >= r + sum of out(t) e[t]      as before a moment.
//   W[0] + .. + W[m] >= sum of in(t) f[k,t] + sum of in(t) h[i] over t in back(i)
// Residents that may leave take no bytes and no time here. Of a link the fastest rate counts, and no latency.
// Steps that wait for a copy and steps that are refused while it is under way make no difference: all of the
// above uses only that nothing leaves the device while it is copied from there, and that no run reads what
// has not arrived.
//
// Source: rows of chain_moments.h; the rows of the links are the preemptive relaxation of one machine with
// release dates and tails (Carlier 1982, "The one-machine sequencing problem"), with choice of the jobs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bounds/dual_value.h"
#include "core/bounds/host_links.h"
#include "core/bounds/host_ops.h"
#include "core/bounds/lineage.h"
#include "core/bounds/moment_chain.h"
#include "core/bounds/term_programme.h"
#include "core/graph/flat_graph.h"

namespace rematlas {

class TwoSidedMoments {
  public:
    /// `margin_rows`: so many of the sets of tensors with the largest r, or s, get a row at each moment, of each
    /// link; the more the stronger, but for first-order methods, which do not get to the end of many.
    /// `host_ops`: of `graph`. The chain may be empty.
    TwoSidedMoments(const FlatGraph& graph, std::int64_t budget, MomentChain chain, const HostLinks& links,
                    int margin_rows = kAllMarginRows, std::span<const HostOp> host_ops = {});
    static constexpr int kAllMarginRows = 1000;

    /// Minimizes nanoseconds, of schedules that take at most `most_time`.
    const MilpModel& programme() const { return programme_.model; }

    /// True when the ops of the moments cannot run within the budget: no schedule fits.
    bool impossible() const { return programme_.impossible(); }

    /// What a value of the programme proves of all schedules: nanoseconds.
    std::int64_t bound(const DualValue& value) const;

    /// Scales the multipliers of the rows of each window's time so that they sum up to at most 1, as the best
    /// ones do: where they sum up to more, the value falls by 16 times the step for each 1 in excess.
    void balance(std::span<double> multipliers) const;

    /// 16 times the step without reruns.
    std::int64_t most_time() const;

  private:
    using Entry = TermProgramme::Entry;
    using Entries = std::vector<Entry>;

    /// One copy of a machine that makes them one at a time, at one moment.
    struct Copy {
        std::int64_t margin;  ///< time before its release, or after its arrival
        std::int64_t time;
        Term term;
    };

    int moments() const { return static_cast<int>(chain_.ops.size()); }
    int op_of(int moment) const { return chain_.ops[moment - 1]; }
    bool has_input_rows(int op, int last_window) const {
        return !late_[op] || last_window <= windows_.last[op];
    }

    void find_needed();
    void need(int window, int tensor);
    void add_columns();
    void add_suffixes();
    void add_window_rows(int window);
    void add_rows_from(int moment);
    void add_memory_row(int moment);
    void add_end_rows(int moment, int tensor);
    void add_link_rows();
    void add_out_rows(int moment);
    void add_in_rows(int moment);
    void add_host_rows(std::span<const HostOp> host_ops);
    Terms copied_at_all(std::span<const HostOp> host_ops, const Terms& on_host);
    void add_time_row(int first, int last, std::int64_t least, Entries& entries);
    void add_margin_rows(int first, int last, std::int64_t spent, std::vector<Copy> copies);
    std::int64_t time_after_fetch(int moment, int tensor) const;
    std::int64_t saved_in_place(int op) const;
    std::int64_t out_time(int tensor) const;
    std::int64_t in_time(int tensor) const;

    const FlatGraph& graph_;
    std::int64_t budget_;
    MomentChain chain_;
    MomentWindows windows_;
    HostLinks links_;
    int margin_rows_;
    Lineage lineage_;
    std::vector<std::uint8_t> late_;   ///< per op: b_fullest or a descendant of it
    std::vector<Terms> runs_;          ///< x[window][op]
    std::vector<Terms> runs_from_;     ///< X[window][op]
    std::vector<Terms> kept_;          ///< a[moment][tensor]
    std::vector<Terms> fetched_;       ///< f[window][tensor]
    std::vector<Terms> fetched_from_;  ///< F[moment][tensor]
    std::vector<Terms> copied_;        ///< c[moment][tensor]
    Terms time_;                       ///< W[window] beyond `least_`, over `most_time`
    std::vector<std::int64_t> least_;  ///< per window: time of what runs in it for sure
    struct TimeRow {
        std::size_t row;
        int first, last;  ///< windows
    };
    std::vector<TimeRow> time_rows_;
    TermProgramme programme_;
};

}  // namespace rematlas
