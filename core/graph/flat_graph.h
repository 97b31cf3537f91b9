// The graph in the form that solvers use: flat arrays of plain integers, with only the data that affects time
// and memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace rematlas {

/// Lists of varying length in one array: list(i) is items[begin[i] .. begin[i + 1]).
struct Lists {
    std::vector<std::int32_t> begin{0};
    std::vector<std::int32_t> items;

    std::span<const std::int32_t> operator[](std::size_t i) const {
        return {items.data() + begin[i], static_cast<std::size_t>(begin[i + 1] - begin[i])};
    }
    std::size_t size() const { return begin.size() - 1; }
    /// Appends a list with the items in ascending order.
    void append_sorted(std::vector<std::int32_t> list);
};

/// Ops are 0 .. op_count-1 in the graph's order. Tensors are 0 .. tensor_count-1, with the graph's ids.
/// Residents are in no list of inputs or outputs; their bytes add up to `resident_bytes`.
struct FlatGraph {
    int op_count = 0;
    int tensor_count = 0;

    std::vector<std::int64_t> time;       ///< per op, nanoseconds
    std::vector<std::int64_t> workspace;  ///< per op, bytes
    std::vector<std::int64_t> bytes;      ///< bytes of each tensor
    Lists inputs;                        ///< per op: inputs that some op makes, ascending, without duplicates
    Lists outputs;                       ///< per op
    Lists users;                         ///< per tensor: ops that read it, ascending
    std::vector<std::int32_t> producer;  ///< per tensor: the op that makes it; -1 for residents

    struct Pair {
        std::int32_t out, in;
        /// The bytes that a run in place saves: those of the smaller of the two tensors.
        std::int64_t saved;
    };
    std::vector<std::int32_t> inplace_begin{0};  ///< per op: index in `inplace`
    /// An op has no pairs in this list if the input of one of them is a resident, or a result that is made
    /// only once (but see `with_results_from_host`).
    std::vector<Pair> inplace;

    std::vector<std::uint8_t> required;      ///< per op: whether every valid schedule runs it
    std::vector<std::uint8_t> recomputable;  ///< per op: whether it may run again
    std::vector<std::uint8_t> is_result;     ///< per tensor: whether it is a result; false for residents
    std::vector<std::int32_t> results;       ///< tensors that ops make and that must exist at the end

    /// The op between the forward and the backward program (Graph::boundary); -1 if there is none.
    std::int32_t boundary = -1;

    std::int64_t resident_bytes = 0;
    /// The time of the step without recomputation (graph.h, `base_time`): the sum of `time`, or less if the
    /// graph has collectives that run at the same time as compute.
    std::int64_t base_time = 0;

    /// Returns `time` as a multiple of `base_time`; 1 if the step takes no time.
    double overhead_of(std::int64_t time) const {
        return base_time > 0 ? static_cast<double>(time) / static_cast<double>(base_time) : 1;
    }

    std::span<const Pair> inplace_pairs(int op) const {
        return {inplace.data() + inplace_begin[op],
                static_cast<std::size_t>(inplace_begin[op + 1] - inplace_begin[op])};
    }
    /// Returns the bytes that a run of the op in place saves.
    std::int64_t saved_in_place(int op) const {
        std::int64_t saved = 0;
        for (const Pair& pair : inplace_pairs(op)) saved += pair.saved;
        return saved;
    }
    /// Returns the bytes that a run of the op takes without residents, in place if possible: its workspace,
    /// and the inputs and outputs that ops make.
    std::int64_t footprint(int op) const {
        std::int64_t sum = workspace[op] - saved_in_place(op);
        for (const std::int32_t t : inputs[op]) sum += bytes[t];
        for (const std::int32_t t : outputs[op]) sum += bytes[t];
        return sum;
    }
};

/// Cost: linear in the size of the graph. `graph` must pass `validate`.
FlatGraph flatten(const Graph& graph);

/// Fills `users` from `inputs`. Cost: linear in the size of the graph.
void collect_users(FlatGraph& graph);

/// Returns `flat` with all in-place pairs that schedules with copies may use. In such schedules an op may
/// also overwrite a result that is made only once, because a copy of the result may be fetched from the host.
/// `flat` must be the flat graph of `graph`.
FlatGraph with_results_from_host(const Graph& graph, FlatGraph flat);

/// A proven lower bound on the peak of every valid schedule without offloading. It is the largest footprint
/// of a required op (residents + inputs + outputs + workspace - bytes saved by running in place), or
/// residents + results if these are more.
struct PeakBound {
    Bytes bytes;
    /// The op with the largest footprint. If the results decide the bound: the last op, after which the
    /// results are held.
    OpId op;
    std::vector<TensorId> tensors;  ///< tensors held at that op, residents included, largest first
};
PeakBound least_peak(const FlatGraph& graph);

}  // namespace rematlas
