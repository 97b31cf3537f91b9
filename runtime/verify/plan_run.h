// Runs a plan for several steps and, on request, the original model beside it. After each step the weights
// take a small plain gradient step, unless an optimizer is part of the step.
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
    bool verify = false;  ///< also run the original, which must fit into memory; one more pair of steps warms
                          ///< up and is compared too
    bool trace = false;   ///< keep the times of each op of the last step
    bool arena = true;    ///< from the second step on, nothing is allocated from the system
    bool cuda_graphs = false;  ///< after one plain step, which is not reported, submit each step as CUDA
                               ///< graphs
    std::uint64_t seed = 1;
    StepLinks links = {};  ///< links other than the device's
    std::function<void(std::string_view stage, double fraction)> progress = {};
};

/// If the budget bounds planned addresses, `verified` says that it bounds the arena and the residents.
struct RunReport : PairedReport {
    int steps = 0;
    std::vector<double> step_seconds;  ///< seconds of each step of the replay
    Bytes predicted_peak;
    double overhead_predicted = 1;
    double overhead_measured = 1;    ///< time of all runs divided by the time of the first runs; with copies
                                     ///< on the CPU, the time of the step over links as fast as the graph
                                     ///< says
    std::vector<StepMeasure> trace;  ///< one per step of the schedule
    StepMemoryReport memory;         ///< after the last step
    std::optional<Bytes> predicted_host_peak, measured_host_peak;  ///< absent if the schedule has no copies
    Bytes slab;                                                    ///< host memory that is set aside for the
                                                                   ///< copies
    std::size_t host_runs = 0;                                     ///< ops of the step that run on the host
    std::optional<Room> room;  ///< memory that the device must have; absent if memory is not held in segments

    bool cuda_graphs = false;        ///< the steps were submitted as CUDA graphs
    std::string why_no_cuda_graphs;  ///< the op that prevents CUDA graphs, if they were asked for

    std::string optimizer;  ///< name of the optimizer whose updates are part of the step, and whose states
                            ///< are compared; empty: none
    bool updates_on_host =
        false;  ///< the original updates the same parameters on the host as the plan, because the CPU's
                ///< kernel gives other bits than that of a GPU
};

/// Errors: a schedule that is not valid for its graph (the first violation), a model that does not fit the
/// graph, exceptions of kernels.
Result<RunReport> run_plan(const Plan& plan, const std::filesystem::path& model, const RunOptions& options,
                           DeviceRuntime& device);

}  // namespace rematlas
