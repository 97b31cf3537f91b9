// When copies to the host and back are made beside a run sequence in which nothing waits for them, and how long
// tensors are away from the device by that: what a search sees of copies.
//
//     PlannedCopies copies(graph, profile, links, false);
//     profile.set_away(tensor, use);
//     copies.settle();                       // profile.excess() is now that of the runs with their copies
//
// The clock is that of the runs alone. A tensor is copied out after the event before its first gap away, once: a copy on
// the host stays good until the last gap is over. Copies out are made in the order of these events, each as
// soon as the link is free; the tensor is gone from the first run on that starts after its copy is done. Copies
// back are made in the order of the uses that they serve, each as late as it can be without being late for its own
// use or making a later one late; the bytes count from the last run on that starts no later than the copy. A gap
// that is too short for its copies is kept: it counts as if the tensor never left.
//
// Copies out are taken to move with the speed that they have alone or the contended one, whichever is asked
// for, copies back with the contended one while one out is under way; what really happens says `simulate` (emit_copies.h). Waiting is a run of an op that does nothing
// (copy_graph.h), so that nothing here has to move the clock. Updates on the host follow each other, each when the first of
// what it reads is there.
//
// Cost of `settle`: linear in the runs and in the copies, with a small factor, and an edit of the profile for each
// copy that has moved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/links.h"
#include "core/solvers/annealing/copy_graph.h"
#include "core/solvers/annealing/run_profile.h"

namespace rematlas::annealing {

class PlannedCopies {
  public:
    using Node = RunProfile::Node;

    /// `contended`: copies out have their contended speed. All must outlive it. Takes over the gaps that are away in the profile.
    PlannedCopies(const CopyGraph& graph, RunProfile& profile, const Links& links, bool contended);

    /// Places all gaps. Between edits of the profile and this, these are where they were.
    void settle();

    /// One copy, as settled.
    struct Copy {
        RunProfile::AwayId away = -1;
        std::int64_t start = 0, end = 0;
    };
    const std::vector<Copy>& out() const { return out_; }    ///< in the order in which they start
    const std::vector<Copy>& back() const { return back_; }  ///< from the last one to the first
    std::int64_t copied() const { return copied_; }          ///< nanoseconds of both links
    /// Of the step: the runs, what residents have to arrive before them, and what is on its way out, or updated on the
    /// host, longer.
    std::int64_t time() const { return time_; }
    /// After the profile was taken back to where they had these.
    void recall(std::int64_t time, std::int64_t copied) {
        time_ = time;
        copied_ = copied;
    }

    /// When it starts, or for kEnd ends; 0 of a run that was not there when gaps were placed.
    std::int64_t clock(Node run) const {
        return static_cast<std::size_t>(run) < clock_.size() ? clock_[run] : 0;
    }
    std::int64_t place(Node run) const { return place_[run]; }  ///< its number in the sequence, as settled
    const std::vector<Node>& runs() const { return runs_; }     ///< in order, and kEnd
    std::int64_t out_time(int tensor) const { return out_time_[tensor]; }
    std::int64_t back_time(int tensor) const { return back_time_[tensor]; }

  private:
    /// Gaps by the place of an event.
    struct ByPlace {
        std::vector<RunProfile::AwayId> first, next;
        void clear(std::size_t places, std::size_t aways) {
            first.assign(places, -1);
            next.assign(aways, -1);
        }
        /// Among those of one place in the order of their tensors.
        void add(std::size_t place, RunProfile::AwayId away, std::span<const RunProfile::Away> aways) {
            RunProfile::AwayId* link = &first[place];
            while (*link >= 0 && aways[*link].tensor < aways[away].tensor) link = &next[*link];
            next[away] = *link;
            *link = away;
        }
    };

    void read_clock();
    void collect();
    void plan_out();
    void run_there(std::int32_t run, std::int64_t copied);
    void plan_back();
    std::int64_t back_start(std::int64_t end, std::int64_t time, std::size_t& outs) const;
    void plan_homes();
    void move_gaps();

    const CopyGraph& graph_;
    RunProfile& profile_;
    const std::int64_t latency_;
    std::vector<std::int64_t> out_time_, back_time_;  ///< by tensor, the latency included; back: alone
    double slower_beside_ = 1;  ///< what a byte back takes while one moves out, of what it takes alone
    std::vector<Node> runs_;
    std::vector<std::int64_t> starts_;         ///< by place
    std::vector<std::int64_t> clock_, place_;  ///< by node
    ByPlace leaving_, coming_;                 ///< at the last event before the gap; at the use behind it
    std::vector<Copy> out_, back_;
    std::vector<std::int64_t> gone_, returns_;  ///< by away: places
    std::int64_t copied_ = 0, time_ = 0;
    std::int64_t late_ = 0;      ///< what the first copies of residents take before the first run
    std::int64_t host_end_ = 0;  ///< of the last op on the host
};

}  // namespace rematlas::annealing
