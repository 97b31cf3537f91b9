// What two schedules of one graph do differently.
//
//     Result<ScheduleDiff> compared = compare(graph, a.steps, b.steps);
//     for (const OpDifference& op : compared->ops) ...
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"

namespace rematlas {

/// An op that runs more often in one schedule, or in another place, or whose outputs lie in memory at one's peak and not
/// at the other's.
struct OpDifference {
    OpId op;
    int runs_a = 0, runs_b = 0;                 ///< on the device
    bool on_host_a = false, on_host_b = false;  ///< it runs there instead
    Nanoseconds time;                           ///< on the device, of its runs in b, less those in a
    Bytes at_peak_a, at_peak_b;  ///< of its outputs, that are held while the schedule's peak is reached
};

/// What a schedule does with the host.
struct HostUse {
    int runs = 0;              ///< of ops, there
    Bytes to_host, to_device;  ///< that are copied
    Bytes peak;                ///< that lie there
    bool operator==(const HostUse&) const = default;
    bool any() const { return *this != HostUse{}; }
};

struct ScheduleDiff {
    Nanoseconds time_a, time_b;
    Bytes peak_a, peak_b;
    std::size_t peak_step_a = 0, peak_step_b = 0;
    std::vector<OpDifference>
        ops;  ///< by what they cost or save in time, then in bytes at the peaks; the most first
    /// Of b: runs that a does not have, and runs of a that b does not have; but for ops that run on the host in one.
    int more_runs = 0, fewer_runs = 0;
    Nanoseconds more_time, fewer_time;   ///< that those take
    int left_device = 0, came_back = 0;  ///< ops that run on the host in b alone, and in a alone
    Nanoseconds left_time, came_time;    ///< that those take on the device
    HostUse host_a, host_b;
    /// For each step the one of the other schedule that does the same: the same run of the same op, counted from the
    /// first, or the same copy or end of the same tensor; -1 where the other has none.
    std::vector<int> in_b, in_a;
};

/// Steps, and what playing them gave.
struct PlayedSteps {
    const std::vector<Step>& steps;
    const Simulation& played;
    Homes homes = {};
};

/// Cost: linear in the steps.
ScheduleDiff compare(const Graph& graph, const PlayedSteps& a, const PlayedSteps& b);
/// Errors: the first step of either that cannot be played.
Result<ScheduleDiff> compare(const Graph& graph, const Schedule& a, const Schedule& b);
Result<ScheduleDiff> compare(const Graph& graph, const std::vector<Step>& a, const std::vector<Step>& b);

/// How often and where two lists of steps run an op, where it is not the same; the graph is not needed.
struct RunDifference {
    OpId op;
    int a = 0, b = 0;  ///< on the device
    bool on_host_a = false, on_host_b = false;
};
/// By op.
std::vector<RunDifference> run_differences(const std::vector<Step>& a, const std::vector<Step>& b);

}  // namespace rematlas
