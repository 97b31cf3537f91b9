// A fast model of copies for the search. The model computes when copies to the host ("out") and back are made
// during a run sequence, if no run waits for them. These times determine how long tensors are away from the
// device.
//
//     PlannedCopies copies(graph, profile, links, false);
//     profile.set_away(tensor, use);
//     copies.settle();                       // profile.excess() now takes the copies into account
//
// Only runs advance the clock. A tensor is copied out once, after the last event before its first gap (an
// event is a run that reads or makes the tensor). The copy on the host is valid until the tensor's last gap
// is over. Copies out are made in the order of these events, each as soon as the link is free. The tensor is
// away from the first run that starts after its copy is done. Copies back are made in the order of the uses
// that need them. Each is made as late as possible without being late for its use or delaying a later copy.
// The bytes of the tensor count again from the last run that starts no later than this copy. If a gap is too
// short for its copies, the tensor counts as if it never left the device.
//
// Copies out are assumed to run either at the speed of a copy alone or at the contended speed, as the caller
// asks. Copies back are assumed to run at the contended speed during copies out. `simulate` computes the
// exact times (emit_copies.h). A wait is a run of an op that does nothing (copy_graph.h), so no other wait
// has to be modelled here. Updates on the host follow each other; each begins when its first input is on the
// host.
//
// Cost of `settle`: linear in the runs and in the copies, with a small factor, plus an edit of the profile
// for each copy that has moved.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/links.h"
#include "core/solvers/annealing/copy_graph.h"
#include "core/solvers/annealing/run_profile.h"

namespace rematlas::annealing {

class PlannedCopies {
  public:
    using Node = RunProfile::Node;

    /// `contended`: whether copies out run at the contended speed. `graph` and `profile` must outlive this
    /// object. Gaps that the profile already has are planned, too.
    PlannedCopies(const CopyGraph& graph, RunProfile& profile, const Links& links, bool contended);

    /// Computes the times of all copies. Sets, for each gap, the runs during which the tensor is away. Must
    /// be called again after the profile was edited.
    void settle();

    /// One copy as computed by `settle`; times in ns.
    struct Copy {
        RunProfile::AwayId away = -1;
        std::int64_t start = 0, end = 0;
    };
    const std::vector<Copy>& out() const { return out_; }    ///< in the order in which they start
    const std::vector<Copy>& back() const { return back_; }  ///< in reverse order of their starts
    std::int64_t copied() const { return copied_; }          ///< total time of copies on both links, ns
    /// The time of the step, ns. The step starts with the copies of residents before the first run. It ends
    /// when the last run, the last copy out and the last op on the host have ended.
    std::int64_t time() const { return time_; }
    /// Restores earlier values of `time` and `copied`. The profile must have been restored to the state that
    /// had these times.
    void recall(std::int64_t time, std::int64_t copied) {
        time_ = time;
        copied_ = copied;
    }

    /// Returns the time in ns at which the run starts. For kEnd, this is the time at which the last run ends.
    /// Returns 0 for a run that did not exist at the last `settle`.
    std::int64_t clock(Node run) const {
        return static_cast<std::size_t>(run) < clock_.size() ? clock_[run] : 0;
    }
    /// Returns the index that the run had in the sequence at the last `settle`.
    std::int64_t place(Node run) const { return place_[run]; }
    const std::vector<Node>& runs() const { return runs_; }  ///< in order, followed by kEnd

  private:
    /// A list of gaps for each place in the sequence of runs.
    struct ByPlace {
        std::vector<RunProfile::AwayId> first, next;
        void clear(std::size_t places, std::size_t aways) {
            first.assign(places, -1);
            next.assign(aways, -1);
        }
        /// Adds a gap. The gaps of one place are sorted by tensor.
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
    /// By tensor: time of a copy in ns, with the latency. Copies back take longer during copies out.
    std::vector<std::int64_t> out_time_, back_time_;
    double slower_beside_ = 1;  ///< a copy back during a copy out takes this many times as long as alone
    std::vector<Node> runs_;
    std::vector<std::int64_t> starts_;         ///< by place
    std::vector<std::int64_t> clock_, place_;  ///< by node
    ByPlace leaving_, coming_;  ///< gaps; `leaving_`: by the event before them; `coming_`: by their use
    std::vector<Copy> out_, back_;
    /// By gap: the place from which the tensor is away, and the place from which it is back.
    std::vector<std::int64_t> gone_, returns_;
    std::int64_t copied_ = 0, time_ = 0;
    std::int64_t late_ = 0;      ///< time that copies of residents take before the first run, ns
    std::int64_t host_end_ = 0;  ///< end of the last op on the host, ns
};

}  // namespace rematlas::annealing
