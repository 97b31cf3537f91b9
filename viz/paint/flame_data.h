// The runs of a step as a flame chart: a row for each level of the module path, the phases of the step above,
// and in each row a box for neighbours of one module. What an op runs again stands apart from what runs for
// the first time. What runs on the host meanwhile has two rows of its own below.
#pragma once

#include <cstdint>
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
    double begin = 0, end = 0;  ///< nanoseconds, or a count of runs
    int step = 0;               ///< of the schedule
    OpId op;
    bool again = false;    ///< it is not the op's first one
    bool on_host = false;  ///< beside the runs on the device
    Nanoseconds time;
    Bytes made = {};  ///< by its outputs
};

/// Neighbouring runs of one part of the model, or a single run.
struct FlameBox {
    /// 0: a phase of the step, or what is made again. The last but one: what the host does without a break.
    int level = 0;
    int first = 0, last = 0;  ///< runs, both included
    int parent = -1;          ///< the box above; -1: none
    bool is_run = false;      ///< a single run, with nothing below it
    /// Where the box's own part begins and ends in the module path of its runs.
    std::size_t name_begin = 0, name_end = 0;
};

/// Of neighbouring runs, with what lies between them.
struct FlameSums {
    int runs = 0;
    Nanoseconds time;  ///< of the runs
    int again = 0;     ///< of the runs, those that are not the first of their op
    Nanoseconds again_time;
    Nanoseconds waits;  ///< between the runs: nothing runs on the device
    Bytes made;         ///< by the outputs of all runs
    Bytes most_held;    ///< on the device at a time
};

struct FlameData {
    LaneAxis axis = LaneAxis::time;
    double length = 0;
    Nanoseconds time;                           ///< of the step
    std::vector<FlameRun> runs = {};            ///< those on the device by begin, then those on the host
    int device_runs = 0;                        ///< how many are on the device
    std::vector<double> step_begin = {};        ///< of each step of the schedule
    std::vector<FlameBox> boxes = {};           ///< each one before those that lie in it
    std::vector<std::vector<int>> levels = {};  ///< the boxes of each level, by begin
    std::vector<Bytes> held = {};               ///< on the device, while each step of the schedule lasts

    bool is_of_host(const FlameBox& box) const { return run(box.first).on_host; }
    const FlameRun& run(int index) const { return runs[static_cast<std::size_t>(index)]; }
    const FlameBox& box(int index) const { return boxes[static_cast<std::size_t>(index)]; }
    double begin_of(const FlameBox& box) const { return run(box.first).begin; }
    double end_of(const FlameBox& box) const { return run(box.last).end; }
    /// The box of a level at x; -1: there is none.
    int box_at(int level, double x) const;
    /// The boxes that lie directly in a box, by begin.
    std::vector<int> boxes_in(int box) const;
    /// What the host does while a box on the device lasts; the box on the device while a box of the host
    /// does, in the uppermost row. -1: nothing.
    int box_of_host_below(const FlameBox& box) const;
    int box_above_host(const FlameBox& box) const;
    /// The run of a step of the schedule; -1: the step runs nothing.
    int run_of_step(int step) const;
    /// The first and the last run on the device that lie at least in part between two places of the axis; -1: none does.
    std::pair<int, int> runs_between(double from, double to) const;
    /// Of the runs from the first to the last one, both included, all of them on the device or all on the host.
    /// Cost: linear in their steps.
    FlameSums sums(int first, int last) const;
    /// Of all runs on the device, or of all on the host.
    FlameSums device_sums() const { return sums(device_runs > 0 ? 0 : -1, device_runs - 1); }
    FlameSums host_sums() const;
};

/// `simulation` is that of `steps`; an empty one gives no boxes. A level in which a module would have one box
/// alone is left out: that box is part of the module's. Cost: the runs times the parts of their module paths.
FlameData flame_data(const Graph& graph, const std::vector<Step>& steps, const Simulation& simulation,
                     LaneAxis axis);

/// The module path down to the box; empty for the phases of models without modules.
std::string_view module_of(const FlameData& data, const Graph& graph, const FlameBox& box);

}  // namespace rematlas
