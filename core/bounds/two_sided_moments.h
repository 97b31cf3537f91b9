// The relaxation of a chain of moments for schedules that also copy tensors to the host and back. A link
// makes one copy at a time: the time before a moment must suffice for the copies to the host that must be
// done by then, and the time after the moment for the copies to the device that are still to come.
//
//     const MomentChain chain = moment_chain(flat, budget, 1);
//     const TwoSidedMoments relaxation(flat, budget, chain, fastest_of(device.links));
//     const std::int64_t time = relaxation.bound(solve_relaxation(relaxation.programme(), ...).value);
//
// Moments, windows, x[k,o] (o runs in window k) and a[k,t] (t is on the device during moment k) are defined
// in chain_moments.h. Further variables:
//     X[k,o]   o runs in window k or a later one
//     F[k,t]   t is not on the device during moment k, and the first step that brings it back is a fetch
//     f[k,t]   the same, and that fetch is in window k
//     c[k,t]   some copy of t to the host was done before moment k began
//     W[k]     the time from the end of moment k to the end of moment k + 1; W[0] starts with the step, and
//              the last W ends with it, when all copies are done.
// The objective, to be minimized, is the sum of all W[k].
//
// The rows below hold in every valid schedule, with any order and reruns, and with any number of copies of a
// tensor in each direction. The right column says why. Let b be the op of moment k, m the last moment, and
// M(t) the maker of t. A copy of t takes the time out(t) to the host and in(t) to the device.
//   x[k,o] <= a[k,u] + x[k,M(u)] + f[k,u]           u is an input of o. Either u was on the device when
//   X[k,o] <= a[k,u] + X[k,M(u)] + F[k,u]           the window began, or a run or a fetch brought u.
//   a[k+1,t] <= a[k,t] + x[k,M(t)] + f[k,t]         The same holds for t at the end of the window.
//   a[k+1,t] + F[k+1,t] <= a[k,t] + F[k,t] + x[k,M(t)]
//                                                  Either t is on the device during moment k + 1,
//                                                  or a fetch is the first to bring t after that
//                                                  moment, and this fetch reads an older copy. In
//                                                  both cases: if t was neither on the device during
//                                                  moment k nor made in window k, then a fetch is the
//                                                  first to bring t after moment k.
//   f[k,t] <= F[k,t] <= f[k,t] + F[k+1,t]           That fetch is in window k, or nothing brings t
//                                                   before moment k + 1, and the fetch is the first
//                                                   after that moment, too.
//   F[k,t] <= c[k,t], c[k,t] <= c[k+1,t]            A fetch reads a copy. From moment k until the fetch
//                                                   t was not on the device. So the copy was begun before
//                                                   the moment, and the step that took t off the device
//                                                   had waited for the copy.
//   W[k] >= sum of time(o) x[k,o]                   Runs follow each other on one clock.
//   W[0] + .. + W[k-1] - time(b) >= r + sum of out(t) c[k,t] over any set of tensors, with
//        r = the least over the set of the time of the ops among M(t) and its ancestors that must run before
//        moment k. The copies are done when moment k begins. No copy begins before t is made, when M(t) and
//        its ancestors have run, and a link makes one copy at a time. Without copies the row is about runs
//        alone, and holds too.
//   W[k] + .. + W[m] >= s + sum of in(t) F[k,t] over any set of tensors, with
//        s = the least over the set of the time of the ops that must run after the fetch. The fetch begins
//        after moment k. The required users of t that cannot run before moment k wait for the fetch, and the
//        required ops that descend from these users wait for them. All these ops run after moment k in any
//        case, so the row also holds without a fetch.
//   W[k] + .. + W[m] >= sum of in(t) f[j,t]         j >= k. Fetches in different windows are different.
//   the memory row of chain_moments.h               A fetch takes its bytes at once, so a tensor that is
//                                                   being fetched counts as being on the device.
//   1 <= a[m,t] + x[m,M(t)] + c[m,t]                t is a result, which ends on the host if it is not
//                                                   on the device. The same holds with X at each k.
//                                                   With `activations_only`, F replaces c.
// If ops may run on the host (host_ops.h), the graph is the step without these ops. Further variables:
//     h[i]     op i of these ops runs on the host
//     e[t]     t is copied to the host at some time
// The rows for these ops are about the whole step, in which each of them runs once, on the device or the
// host:
//   e[t] >= c[m,t], e[t] >= h[i]                    t: an input of op i that is made on the device
//   W[0] + .. + W[m] >= sum of time(o) x[k,o] + sum of time(i) (1 - h[i])
//   W[0] + .. + W[m] >= r + sum of host_time(i) h[i] over any set of these ops, with
//        r = the least over the set of the time of the ops that must run before the inputs of op i exist.
//        Ops on the host run one after another.
//   W[0] + .. + W[m] >= r + sum of out(t) e[t]      as in the row for W[0] + .. + W[k-1]
//   W[0] + .. + W[m] >= sum of in(t) f[k,t] + sum of in(t) h[i] over t in back(i)
// Residents that may leave the device take no bytes and no time here. A link is counted with its fastest rate
// and no latency. The rows hold whether a step waits for a copy or is refused while the copy is running. They
// rely on only two facts: no tensor leaves the device while it is being copied from there, and no run reads a
// tensor that has not arrived.
//
// Source: the rows of chain_moments.h. The rows of the links are the preemptive relaxation of one machine
// with release dates and tails (Carlier 1982, "The one-machine sequencing problem"), with a choice of the
// jobs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bounds/dual_value.h"
#include "core/bounds/host_links.h"
#include "core/bounds/host_ops.h"
#include "core/bounds/lineage.h"
#include "core/bounds/moment_relaxation.h"

namespace rematlas {

/// The program minimizes nanoseconds, over schedules that take at most `most_time`.
class TwoSidedMoments : public MomentRelaxation {
  public:
    /// `margin_rows`: at each moment, each link gets rows for at most this many sets of tensors: the sets
    /// with the largest r or s. More rows make the bound stronger, except with first-order methods, which do
    /// not converge with many rows. `host_ops` must be ops of `graph`. The chain may be empty.
    TwoSidedMoments(const FlatGraph& graph, std::int64_t budget, MomentChain chain, const HostLinks& links,
                    int margin_rows = kAllMarginRows, std::span<const HostOp> host_ops = {});
    static constexpr int kAllMarginRows = 1000;

    /// Returns the lower bound in nanoseconds that `value` proves for all schedules; at most `most_time`.
    std::int64_t bound(const DualValue& value) const;

    /// Scales the multipliers of the time rows so that the multipliers of each window add up to at most 1, as
    /// in the optimum. An excess of 1 would lower the dual value by `most_time`.
    void balance(std::span<double> multipliers) const;

    /// Returns 16 times the time of the step without reruns.
    std::int64_t most_time() const;

  private:
    /// One job of a machine that does one job at a time: a copy on a link, or an op on the host.
    struct Copy {
        std::int64_t margin;  ///< time before the job can start, or time needed after its end
        std::int64_t time;
        Term term;
    };

    void add_columns();
    void add_suffixes();
    void add_window_rows(int window);
    void add_rows_from(int moment);
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

    HostLinks links_;
    int margin_rows_;
    Lineage lineage_;
    std::vector<Terms> runs_from_;     ///< X[window][op]
    std::vector<Terms> fetched_;       ///< f[window][tensor]
    std::vector<Terms> fetched_from_;  ///< F[moment][tensor]
    std::vector<Terms> copied_;        ///< c[moment][tensor]
    Terms time_;                       ///< W[window] minus `least_`, as a share of `most_time`
    std::vector<std::int64_t> least_;  ///< per window: time of the ops that certainly run in it
    struct TimeRow {
        std::size_t row;
        int first, last;  ///< indices of windows
    };
    std::vector<TimeRow> time_rows_;
};

}  // namespace rematlas
