// Captures the small models of resources/models/export.py, each once per process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/run_sequence.h"
#include "core/schedule/schedule_file.h"
#include "runtime/capture/capture.h"
#include "runtime/device/device.h"
#include "runtime/replay/step_transfers.h"

namespace rematlas::test {

std::filesystem::path model_path(const std::string& name);
std::vector<InputSpec> model_inputs(const std::string& name);

DeviceRuntime& cpu();
/// Returns the device that REMATLAS_TEST_DEVICE names, or the CPU. `captured` captures on this device, and
/// `expect_identical` runs on it.
DeviceRuntime& step_device();

/// Returns options for a quick capture: few replays, because times do not matter.
CaptureOptions quick(const std::string& name);

/// Captures the model. If this fails, the test fails.
const Graph& captured(const std::string& name);

/// Returns a plan whose schedule runs the graph's ops in this order. The simulator computes the predicted
/// time and peak.
Plan plan_of(const Graph& graph, const RunSequence& runs);

/// Returns the names of the modules in a group. resources/models/modules.py has the table of groups.
std::vector<std::string> modules_of(const std::string& group);

/// Says whether some tensors of the graph are on the host although the step is for another device. Plans
/// count such tensors as memory of the device.
bool has_host_tensors(const Graph& graph);

/// Expects that three steps, each with different data and weights, are equal to the original bit by bit and
/// take the predicted bytes. If the device captures graphs, the steps also run as captured graphs.
void expect_identical(const std::string& name, const Plan& plan, const StepLinks& links = {});

/// Returns the ops in an order in which each op comes after the ops whose results it reads; the order is
/// random if `shuffle`. Before some ops, random earlier ops run again.
RunSequence shuffled_with_reruns(const FlatGraph& graph, double rerun_probability, bool shuffle,
                                 std::uint64_t seed);

}  // namespace rematlas::test
