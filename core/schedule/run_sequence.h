// A run sequence: the ops in the order they run, with frees left implicit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/flat_graph.h"
#include "core/schedule/schedule.h"

namespace rematlas {

/// The op ids of the runs, in order; an op that occurs again is recomputed.
using RunSequence = std::vector<std::int32_t>;

/// Time and exact peak of a sequence under the lifetimes below.
struct SequenceCost {
    std::int64_t time = 0;
    std::int64_t peak = 0;
    std::size_t peak_run = 0;  ///< index of the first run at the peak
};

/// Lifetimes: between two consecutive events of a tensor (runs of its producer, uses, and the end for
/// results), the tensor is kept if and only if the second event is a use. A run is in place if the op has
/// pairs and none of their inputs is kept after the run. Cost: linear in the number of events. `runs` must
/// be executable (see `is_executable`).
SequenceCost cost_of(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// The bytes held during each run, under the same lifetimes and at the same cost; none above the peak.
std::vector<std::int64_t> memory_of(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// The same sequence without useless runs. A run is useless if none of its outputs is read before it is made
/// again, unless the op must run and this is its last run. Cost: linear.
RunSequence without_useless(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// Returns the sequence without the runs that the graph's boundary forbids: an op's second runs on one side,
/// and runs behind the boundary after an output of the op was read there. The copies that the op has made
/// before are kept instead. In a graph without a boundary it returns all runs. Cost: linear.
RunSequence once_a_side(const FlatGraph& graph, RunSequence runs);

/// True when each run has its inputs made before it, every required op runs, ops that may run once run once,
/// no run is forbidden by a boundary, and all results are made.
bool is_executable(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// The same sequence as steps: run or run_inplace, each tensor freed right after the last use of its
/// lifetime. `run_inplace` is used only when every pair of the op can run in place.
std::vector<Step> lower(const FlatGraph& graph, std::span<const std::int32_t> runs);

/// The runs of a schedule. Returns nothing where the schedule moves tensors to the host or back, because
/// runs alone do not say so.
std::optional<RunSequence> runs_of(std::span<const Step> steps);

/// Every op once, in the graph's order.
RunSequence keep_all_sequence(const FlatGraph& graph);

/// Every required op once, in the graph's order: no schedule takes less time, because every schedule runs
/// these. Executable in every valid graph.
RunSequence required_once(const FlatGraph& graph);

/// Peak of the step without recomputation: that of `keep_all_sequence`.
Bytes keep_all_peak(const FlatGraph& graph);

}  // namespace rematlas
