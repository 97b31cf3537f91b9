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
    bool verify = false;  ///< run the original as well, which must fit into memory; one pair more warms up
                          ///< and is compared too
    bool trace = false;   ///< keep the times of each op of the last step
    bool arena = true;    ///< from the second step on nothing is allocated from the system
    bool cuda_graphs = false;  ///< after one plain step, which is not reported, submit each as CUDA graphs
    std::uint64_t seed = 1;
    StepLinks links = {};  ///< other ones than the device's
    std::function<void(std::string_view stage, double fraction)> progress = {};
};

/// `verified` says of a budget that bounds planned addresses that it bounds the arena and the residents.
struct RunReport : PairedReport {
    int steps = 0;
    std::vector<double> step_seconds;  ///< of the replay
    Bytes predicted_peak;
    double overhead_predicted = 1;
    double overhead_measured = 1;    ///< time of all runs over the time of the first runs; with copies on the
                                     ///< CPU the time of the step over links as fast as the graph says
    std::vector<StepMeasure> trace;  ///< one per step of the schedule
    StepMemoryReport memory;         ///< after the last step
    std::optional<Bytes> predicted_host_peak, measured_host_peak;  ///< of a schedule with copies
    Bytes slab;                                                    ///< set aside on the host for these
    std::size_t host_runs = 0;                                     ///< ops of the step that run on the host
    std::optional<Room> room;  ///< that the device must have; none where memory is not held in segments

    bool cuda_graphs = false;        ///< the steps were submitted so
    std::string why_no_cuda_graphs;  ///< where it was asked for and could not be: the op that prevents it

    std::string optimizer;  ///< whose updates are part of the step; its states are compared; empty: none
    bool updates_on_host =
        false;  ///< the original updates on the host what the plan updates there: the CPU's
                ///< kernel gives other bits than that of a GPU
};

/// Errors: a schedule that is not valid for its graph (the first violation), a model that does not fit the
/// graph, what kernels threw.
Result<RunReport> run_plan(const Plan& plan, const std::filesystem::path& model, const RunOptions& options,
                           DeviceRuntime& device);

}  // namespace rematlas
