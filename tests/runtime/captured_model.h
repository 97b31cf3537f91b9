// The small models of resources/models/export.py, captured once per process.
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
/// That REMATLAS_TEST_DEVICE names, else the CPU: what `captured` captures on and `expect_identical` runs on.
DeviceRuntime& step_device();

/// Quick options: few replays, times do not matter.
CaptureOptions quick(const std::string& name);

/// Fails the test when the capture does.
const Graph& captured(const std::string& name);

/// The graph with a schedule of these runs, predicted by the simulator.
Plan plan_of(const Graph& graph, const RunSequence& runs);

/// Of a group of the table in resources/models/modules.py.
std::vector<std::string> modules_of(const std::string& group);

/// In a step on another device; they are counted as if they lay there.
bool has_host_tensors(const Graph& graph);

/// Three steps with other data and weights each, and one before them, are those of the original bit by bit,
/// and take the bytes that were predicted. On a device that captures graphs, once more as graphs.
void expect_identical(const std::string& name, const Plan& plan, const StepLinks& links = {});

/// A random order that respects the data, with random earlier ops run again before some ops.
RunSequence shuffled_with_reruns(const FlatGraph& graph, double rerun_probability, bool shuffle,
                                 std::uint64_t seed);

}  // namespace rematlas::test
