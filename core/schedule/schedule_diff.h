// Compares two schedules of one graph.
//
//     Result<ScheduleDiff> compared = compare(graph, a.steps, b.steps);
//     for (const OpDifference& op : compared->ops) ...
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"

namespace rematlas {

/// An op that differs between two schedules. It runs more often in one of them, or in another place (device
/// or host), or a different number of bytes of its outputs is held at the peak.
struct OpDifference {
    OpId op;
    int runs_a = 0, runs_b = 0;                 ///< number of runs on the device
    bool on_host_a = false, on_host_b = false;  ///< whether the op runs on the host
    Nanoseconds time;            ///< time of the op's runs on the device: the sum in `b` minus the sum in `a`
    Bytes at_peak_a, at_peak_b;  ///< bytes of the op's outputs that are held at the schedule's peak
};

/// How a schedule uses the host.
struct HostUse {
    int runs = 0;              ///< number of runs on the host
    Bytes to_host, to_device;  ///< bytes of all copies in each direction
    Bytes peak;                ///< the most bytes on the host
    bool operator==(const HostUse&) const = default;
    bool any() const { return *this != HostUse{}; }
};

struct ScheduleDiff {
    Nanoseconds time_a, time_b;
    Bytes peak_a, peak_b;
    std::size_t peak_step_a = 0, peak_step_b = 0;
    /// Sorted by change of time, then by change of bytes at the peaks; largest first.
    std::vector<OpDifference> ops;
    /// `more_runs`: how many runs `b` has beyond those of `a`. `fewer_runs`: how many runs `a` has beyond
    /// those of `b`. Both leave out ops that run on the host in only one of the schedules.
    int more_runs = 0, fewer_runs = 0;
    Nanoseconds more_time, fewer_time;  ///< time of the runs in `more_runs` and `fewer_runs`
    /// For the ops that `b` runs on the host and `a` does not, `left_device` is the number of their runs on
    /// the device in `a`, minus those in `b`. For the ops that `a` runs on the host and `b` does not,
    /// `came_back` is the number of their runs on the device in `b`, minus those in `a`.
    int left_device = 0, came_back = 0;
    Nanoseconds left_time, came_time;  ///< time on the device of the runs in `left_device` and `came_back`
    HostUse host_a, host_b;
    /// `in_b`: for each step of `a`, the index of the matching step of `b`; -1 if there is none. `in_a`: the
    /// same with `a` and `b` exchanged. The n-th run of an op matches the n-th run of the same op. The n-th
    /// step of any other kind for a tensor matches the n-th step of the same kind for the same tensor.
    std::vector<int> in_b, in_a;
};

/// The steps of a schedule with their simulation.
struct PlayedSteps {
    const std::vector<Step>& steps;
    const Simulation& played;
    Homes homes = {};
};

/// Compares two simulated schedules. Cost: linear in the steps.
ScheduleDiff compare(const Graph& graph, const PlayedSteps& a, const PlayedSteps& b);
/// Errors: the first step of either schedule that cannot be simulated.
Result<ScheduleDiff> compare(const Graph& graph, const Schedule& a, const Schedule& b);
Result<ScheduleDiff> compare(const Graph& graph, const std::vector<Step>& a, const std::vector<Step>& b);

/// An op that two lists of steps run a different number of times, or in different places (device or host).
struct RunDifference {
    OpId op;
    int a = 0, b = 0;  ///< number of runs on the device
    bool on_host_a = false, on_host_b = false;
};
/// Returns the ops whose runs differ, ascending. Does not need the graph.
std::vector<RunDifference> run_differences(const std::vector<Step>& a, const std::vector<Step>& b);

}  // namespace rematlas
