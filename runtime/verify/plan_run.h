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
    bool verify = false;  ///< whether to run the original too, which must fit into memory; if so, one more
                          ///< pair of steps comes first, which is compared but not timed
    bool trace = false;   ///< whether to keep the times of each op of the additional step that runs last
    bool arena = true;    ///< whether to use an arena: from the second training step on, nothing is
                          ///< allocated from the system
    bool cuda_graphs = false;  ///< whether to submit each training step as CUDA graphs, after one training
                               ///< step without graphs that is not reported
    std::uint64_t seed = 1;
    StepLinks links = {};  ///< links to use instead of the device's, if any
    std::function<void(std::string_view stage, double fraction)> progress = {};
};

/// If the budget is for planned addresses, `verified` also says that the arena and the residents together are
/// within the budget.
struct RunReport : PairedReport {
    int steps = 0;
    std::vector<double> step_seconds;  ///< seconds of each step of the replay
    Bytes predicted_peak;
    double overhead_predicted = 1;
    double overhead_measured = 1;    ///< time of all runs divided by the time of the first runs; if the
                                     ///< schedule has copies and the device is the CPU, the time of all runs
                                     ///< is replaced by the time that the step would take over the links of
                                     ///< the schedule, or of the graph if the schedule has none
    std::vector<StepMeasure> trace;  ///< one entry for each step of the schedule
    StepMemoryReport memory;         ///< report on the arena after the last step
    std::optional<Bytes> predicted_host_peak, measured_host_peak;  ///< absent if the schedule has no copies
    Bytes slab;                                                    ///< host memory that is reserved for the
                                                                   ///< copies
    std::size_t host_runs = 0;                                     ///< ops of the step that run on the host
    std::optional<Room> room;  ///< memory that the device must have; absent if its allocator does not hold
                               ///< memory in segments

    bool cuda_graphs = false;        ///< whether the steps were submitted as CUDA graphs
    std::string why_no_cuda_graphs;  ///< the op that prevents CUDA graphs, if they were asked for

    std::string optimizer;  ///< name of the optimizer whose updates are part of the step, and whose states
                            ///< are compared; empty if there is none
    bool updates_on_host =
        false;  ///< whether the original updates the same parameters on the host as the plan, because the
                ///< CPU's kernel gives other bits than a GPU's kernel
};

/// Fails if the schedule is not valid for its graph (the error is the first violation), if the model does not
/// fit the graph, or if a kernel throws an exception.
Result<RunReport> run_plan(const Plan& plan, const std::filesystem::path& model, const RunOptions& options,
                           DeviceRuntime& device);

}  // namespace rematlas
