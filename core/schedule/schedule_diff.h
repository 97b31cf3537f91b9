// The differences between two schedules of one graph.
//
//     Result<ScheduleDiff> compared = compare(graph, a.steps, b.steps);
//     for (const OpDifference& op : compared->ops) ...
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"

namespace rematlas {

/// An op that runs more often in one schedule, or in another place, or whose outputs are held at the peak of
/// one schedule and not at that of the other.
struct OpDifference {
    OpId op;
    int runs_a = 0, runs_b = 0;                 ///< on the device
    bool on_host_a = false, on_host_b = false;  ///< it runs on the host instead
    Nanoseconds time;                           ///< of its runs on the device in b, less those in a
    Bytes at_peak_a, at_peak_b;                 ///< of its outputs that are held at the schedule's peak
};

/// What a schedule does with the host.
struct HostUse {
    int runs = 0;              ///< of ops on the host
    Bytes to_host, to_device;  ///< bytes of all copies each way
    Bytes peak;                ///< the most bytes on the host
    bool operator==(const HostUse&) const = default;
    bool any() const { return *this != HostUse{}; }
};

struct ScheduleDiff {
    Nanoseconds time_a, time_b;
    Bytes peak_a, peak_b;
    std::size_t peak_step_a = 0, peak_step_b = 0;
    std::vector<OpDifference> ops;  ///< the largest change of time first, then of bytes at the peaks
    /// Runs that b alone has, and runs that a alone has. Ops that run on the host in one schedule alone are
    /// not counted.
    int more_runs = 0, fewer_runs = 0;
    Nanoseconds more_time, fewer_time;   ///< of these runs
    int left_device = 0, came_back = 0;  ///< ops that run on the host in b alone, and in a alone
    Nanoseconds left_time, came_time;    ///< of these ops on the device
    HostUse host_a, host_b;
    /// For each step of a, the step of b that does the same, and the reverse; -1 where there is none. The
    /// n-th run of an op matches the n-th run of this op, and the n-th copy or free of a tensor the n-th
    /// such step of this tensor.
    std::vector<int> in_b, in_a;
};

/// Steps with their simulation.
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

/// An op that two lists of steps do not run equally often or in the same place. The graph is not needed.
struct RunDifference {
    OpId op;
    int a = 0, b = 0;  ///< on the device
    bool on_host_a = false, on_host_b = false;
};
/// Ascending by op.
std::vector<RunDifference> run_differences(const std::vector<Step>& a, const std::vector<Step>& b);

}  // namespace rematlas
