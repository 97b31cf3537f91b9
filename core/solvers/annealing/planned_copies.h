// The search's model of copies. It says when copies to the host and back are made beside a run sequence in
// which nothing waits for them, and how long tensors are away from the device as a result.
//
//     PlannedCopies copies(graph, profile, links, false);
//     profile.set_away(tensor, use);
//     copies.settle();                       // profile.excess() is now that of the runs with their copies
//
// The clock counts the runs alone. A tensor is copied out once, after the event before its first gap; the
// copy on the host stays good until the last gap is over. Copies out are made in the order of these events,
// each as soon as the link is free. The tensor is gone from the first run on that starts after its copy is
// done. Copies back are made in the order of the uses that they serve, each as late as possible without
// being late for its own use or delaying a later copy. The bytes count from the last run on that starts no
// later than the copy. A gap that is too short for its copies is kept: it counts as if the tensor never
// left.
//
// Copies out are assumed to have the speed of a copy alone or the contended speed, as the caller asks.
// Copies back are assumed to have the contended speed while a copy out is under way. `simulate` says what
// really happens (emit_copies.h). Waiting is a run of an op that does nothing (copy_graph.h), so that
// nothing here has to move the clock. Updates on the host follow each other; each of them begins when its
// first input is on the host.
//
// Cost of `settle`: linear in the runs and in the copies, with a small factor, and an edit of the profile
// for each copy that has moved.
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

    /// `contended`: copies out have their contended speed. `graph` and `profile` must outlive this object.
    /// It also plans the gaps that the profile has already.
    PlannedCopies(const CopyGraph& graph, RunProfile& profile, const Links& links, bool contended);

    /// Places the copies, and with them all gaps of the profile. After an edit of the profile they keep
    /// their places until the next call.
    void settle();

    /// One copy as `settle` placed it; times in ns.
    struct Copy {
        RunProfile::AwayId away = -1;
        std::int64_t start = 0, end = 0;
    };
    const std::vector<Copy>& out() const { return out_; }    ///< in the order in which they start
    const std::vector<Copy>& back() const { return back_; }  ///< from the last one to the first
    std::int64_t copied() const { return copied_; }          ///< ns, summed over both links
    /// The time of the step, ns: from the copies of residents before the first run to the end of the last
    /// run, the last copy out and the last op on the host.
    std::int64_t time() const { return time_; }
    /// Takes back both times, after the profile was taken back to the state that had them.
    void recall(std::int64_t time, std::int64_t copied) {
        time_ = time;
        copied_ = copied;
    }

    /// The time at which the run starts, ns, or for kEnd the time at which the last run ends; 0 for a run
    /// that was not there at the last `settle`.
    std::int64_t clock(Node run) const {
        return static_cast<std::size_t>(run) < clock_.size() ? clock_[run] : 0;
    }
    std::int64_t place(Node run) const { return place_[run]; }  ///< its number in the sequence, as settled
    const std::vector<Node>& runs() const { return runs_; }     ///< in order, and kEnd
    std::int64_t out_time(int tensor) const { return out_time_[tensor]; }
    std::int64_t back_time(int tensor) const { return back_time_[tensor]; }

  private:
    /// Lists of gaps, one for each place of an event.
    struct ByPlace {
        std::vector<RunProfile::AwayId> first, next;
        void clear(std::size_t places, std::size_t aways) {
            first.assign(places, -1);
            next.assign(aways, -1);
        }
        /// Keeps the gaps of one place in the order of their tensors.
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
    std::vector<std::int64_t> out_time_, back_time_;  ///< ns by tensor, with the latency; back: while
                                                      ///< nothing is copied out
    double slower_beside_ = 1;  ///< time of a copy back beside a copy out, as a multiple of its time alone
    std::vector<Node> runs_;
    std::vector<std::int64_t> starts_;         ///< by place
    std::vector<std::int64_t> clock_, place_;  ///< by node
    ByPlace leaving_, coming_;                 ///< by the last event before the gap; by its use
    std::vector<Copy> out_, back_;
    std::vector<std::int64_t> gone_, returns_;  ///< by away: places at which it is gone, and is back
    std::int64_t copied_ = 0, time_ = 0;
    std::int64_t late_ = 0;      ///< ns that copies of residents take before the first run
    std::int64_t host_end_ = 0;  ///< end of the last op on the host, ns
};

}  // namespace rematlas::annealing
