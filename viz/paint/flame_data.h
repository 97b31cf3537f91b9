// The runs of a step as a flame chart. The top row has the phases of the step. Below it is a row for each
// level of the module path, in which neighbouring runs of one module form a box. Reruns are in separate
// boxes. Runs on the host have two rows at the bottom.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "core/schedule/simulate.h"
#include "viz/paint/lane_data.h"

namespace rematlas {

/// One run of an op, on the device or on the host.
struct FlameRun {
    double begin = 0, end = 0;  ///< nanoseconds, or numbers of runs, depending on the axis
    int step = 0;               ///< step of the schedule
    OpId op;
    bool again = false;    ///< whether the op has run before
    bool on_host = false;  ///< whether it runs on the host, in parallel with the device
    Nanoseconds time;
    Bytes made = {};  ///< bytes of its outputs
};

/// Neighbouring runs of one part of the model, or a single run.
struct FlameBox {
    /// Level 0 has the phases of the step and the recomputation. The levels below it have the modules and
    /// the runs. If the host runs ops, there are two more levels: the stretches in which the host runs ops
    /// without a break, and the runs on the host.
    int level = 0;
    int first = 0, last = 0;  ///< first and last run
    int parent = -1;          ///< index of the box above; -1: none
    bool is_run = false;      ///< whether it is a single run, which has no boxes below
    /// The part of the module path that this box adds to the box above: its begin and end in the path.
    std::size_t name_begin = 0, name_end = 0;
};

/// Sums over neighbouring runs and the time between them.
struct FlameSums {
    int runs = 0;
    Nanoseconds time;  ///< time of the runs
    int again = 0;     ///< how many of the runs are reruns
    Nanoseconds again_time;
    Nanoseconds waits;  ///< time between the runs, in which the device runs nothing
    Bytes made;         ///< bytes of the outputs of all runs
    Bytes most_held;    ///< most bytes on the device at one time
};

struct FlameData {
    LaneAxis axis = LaneAxis::time;
    double length = 0;
    Nanoseconds time;                           ///< time of the step
    std::vector<FlameRun> runs = {};            ///< runs on the device, sorted by begin; then runs on the
                                                ///< host
    int device_runs = 0;                        ///< number of runs on the device
    std::vector<double> step_begin = {};        ///< for each step of the schedule: its begin on the axis
    std::vector<FlameBox> boxes = {};           ///< each box before the boxes inside it
    std::vector<std::vector<int>> levels = {};  ///< for each level: indices of its boxes, sorted by begin
    std::vector<Bytes> held = {};               ///< for each step of the schedule: bytes on the device

    bool is_of_host(const FlameBox& box) const { return run(box.first).on_host; }
    const FlameRun& run(int index) const { return runs[static_cast<std::size_t>(index)]; }
    const FlameBox& box(int index) const { return boxes[static_cast<std::size_t>(index)]; }
    double begin_of(const FlameBox& box) const { return run(box.first).begin; }
    double end_of(const FlameBox& box) const { return run(box.last).end; }
    /// Returns the box of a level at x, or -1 if there is none.
    int box_at(int level, double x) const;
    /// Returns the boxes directly inside a box, sorted by begin.
    std::vector<int> boxes_in(int box) const;
    /// `box_of_host_below` returns the first box of host runs that overlaps a box on the device.
    /// `box_above_host` returns the top-level box on the device at the time of the middle of a box of host
    /// runs. Both functions return -1 if there is no such box.
    int box_of_host_below(const FlameBox& box) const;
    int box_above_host(const FlameBox& box) const;
    /// Returns the run of a step of the schedule, or -1 if the step runs nothing.
    int run_of_step(int step) const;
    /// Returns the first and the last run on the device that are at least partly between two places of the
    /// axis. Both are -1 if there is no such run.
    std::pair<int, int> runs_between(double from, double to) const;
    /// Returns the sums over the runs from `first` to `last`, which must all be on the device or all on the
    /// host. Cost: linear in the steps between these runs.
    FlameSums sums(int first, int last) const;
    /// Return the sums over all runs on the device, or over all runs on the host.
    FlameSums device_sums() const { return sums(device_runs > 0 ? 0 : -1, device_runs - 1); }
    FlameSums host_sums() const;
};

/// Returns the flame chart of a schedule. `simulation` must be the simulation of `steps`; if it is empty,
/// there are no boxes. If a box would contain only one box of the next level, the two become one box, whose
/// name has both parts of the path. Cost: the number of runs times the parts of their module paths.
FlameData flame_data(const Graph& graph, const std::vector<Step>& steps, const Simulation& simulation,
                     LaneAxis axis);

/// Returns the module path of the box, which includes the names of the boxes above it; empty for the phases
/// of models without modules.
std::string_view module_of(const FlameData& data, const Graph& graph, const FlameBox& box);

}  // namespace rematlas
