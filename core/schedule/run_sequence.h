// A run sequence: the ops in the order in which they run. The steps that free tensors are not in it; they
// follow from the order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// The op ids of the runs, in order. Further runs of an op are reruns.
using RunSequence = std::vector<std::int32_t>;

/// The time of a sequence, and its exact peak for the lifetimes described below.
struct SequenceCost {
    std::int64_t time = 0;
    std::int64_t peak = 0;
    std::size_t peak_run = 0;  ///< index of the first run at the peak
};

/// Returns the time and the peak of a sequence. Lifetimes: the events of a tensor are the runs of its
/// producer and its uses; for a result, the end of the step is also a use. Between two consecutive events,
/// the tensor is kept if and only if the second event is a use. A run is in place if the op has in-place
/// pairs and none of their inputs is kept after the run. Cost: linear in the number of events. `runs` must be
/// executable (see `is_executable`).
SequenceCost cost_of(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// Returns the bytes held during each run, with the lifetimes and the cost of `cost_of`. No entry is above
/// the peak.
std::vector<std::int64_t> memory_of(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// Returns the sequence without useless runs. A run is useless if none of its outputs is read before the op
/// runs again. The last run of an op that must run is not useless. Cost: linear.
RunSequence without_useless(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// Returns the sequence without the runs that the graph's boundary forbids: second runs of an op on one side,
/// and runs of an op after the boundary once its output has been read after the boundary. The outputs of the
/// earlier runs are kept instead. If the graph has no boundary, returns all runs. Cost: linear.
RunSequence once_a_side(const FlatGraph& graph, RunSequence runs);

/// Says whether the inputs of each run are made before it, every required op runs, ops that may run only once
/// do not run twice, the boundary forbids no run, and all results are made.
bool is_executable(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// Returns the sequence as steps: run or run_inplace, and a free of each tensor right after the last use of
/// its lifetime. `run_inplace` is used only if every in-place pair of the op can run in place.
std::vector<Step> lower(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// Returns the runs of a schedule. Returns nothing if the schedule copies tensors to the host or back,
/// because runs alone do not contain the copies.
std::optional<RunSequence> runs_of(std::span<const Step> steps);

/// Returns a sequence that runs every op once, in the graph's order.
RunSequence keep_all_sequence(const FlatGraph& graph);

/// Returns a sequence that runs every required op once, in the graph's order. No schedule takes less time,
/// because every schedule runs these ops. The sequence is executable in every valid graph.
RunSequence required_once(const FlatGraph& graph);

/// Returns the peak of the step without recomputation, which is the peak of `keep_all_sequence`.
Bytes keep_all_peak(const FlatGraph& graph);

}  // namespace rematlas
