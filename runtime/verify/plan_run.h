// Runs a plan for several training steps. On request also runs the original model beside it. After each
// training step the weights take a small plain gradient step, unless an optimizer is part of the training
// step.
//
//     Result<RunReport> report = run_plan(plan, "model.pt", {.steps = 5, .verify = true}, *device);
//     report->verified;   // bit-identical, predicted peak met, budget kept
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/schedule/schedule_file.h"
#include "runtime/replay/executor.h"
#include "runtime/replay/room.h"
#include "runtime/verify/paired_run.h"

namespace rematlas {

struct RunOptions {
    int steps = 5;
    /// Whether to run the original too. It must fit into memory. The first step of plan and original is then
    /// an extra one, which is compared but not timed.
    bool verify = false;
    /// Whether to report the times of each op. They are measured in one more step, which runs at the end.
    bool trace = false;
    bool arena = true;  ///< whether to use an arena: from the second training step on, nothing is allocated
                        ///< from the system
    /// Whether to submit each training step as CUDA graphs. An extra first step runs without graphs; its time
    /// is not reported.
    bool cuda_graphs = false;
    std::uint64_t seed = 1;
    StepLinks links = {};  ///< links to use instead of the device's, if any
    std::function<void(std::string_view stage, double fraction)> progress = {};
};

/// If the schedule has planned addresses, `verified` also requires that the arena and the residents together
/// are within the budget.
struct RunReport : PairedReport {
    int steps = 0;
    std::vector<double> step_seconds;  ///< seconds of each training step of the plan
    Bytes predicted_peak;
    double overhead_predicted = 1;
    /// The time of all runs of ops in a training step, divided by the time of each op's first run. If the
    /// schedule has copies and the device is the CPU, the time of all runs is replaced by a simulated time:
    /// the time that the step would take over the schedule's links (over the graph's if it has none).
    double overhead_measured = 1;
    std::vector<StepMeasure> trace;  ///< one entry for each step of the schedule; empty without `trace`
    StepMemoryReport memory;         ///< report on the arena after the last training step
    std::optional<Bytes> predicted_host_peak, measured_host_peak;  ///< absent if the schedule has no copies
    Bytes slab;                                                    ///< host memory that is reserved for the
                                                                   ///< copies
    std::size_t host_runs = 0;                                     ///< ops of the step that run on the host
    std::optional<Room> room;  ///< memory that the device must have; absent if the device's allocator does
                               ///< not hold memory in segments

    bool cuda_graphs = false;        ///< whether the steps were submitted as CUDA graphs
    std::string why_no_cuda_graphs;  ///< why CUDA graphs that were asked for are not used; else empty

    std::string optimizer;  ///< name of the optimizer whose updates are part of the step, and whose states
                            ///< are compared; empty if there is none
    /// Whether the original, too, updates on the host those parameters that the plan updates there. Otherwise
    /// the bits would differ, because the CPU's kernel rounds differently than a GPU's kernel.
    bool updates_on_host = false;
};

/// Fails if the schedule is not valid for its graph (the error is the first violation), if the model does not
/// fit the graph, or if a kernel throws an exception.
Result<RunReport> run_plan(const Plan& plan, const std::filesystem::path& model, const RunOptions& options,
                           DeviceRuntime& device);

}  // namespace rematlas
