// The graph as solvers see it: flat arrays of plain integers, with only the data that decides time and
// memory.
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
};

/// Ops are 0 .. op_count-1 in the graph's order, tensors 0 .. tensor_count-1 with the graph's ids.
/// Residents appear in no list: their bytes are in `resident_bytes`.
struct FlatGraph {
    int op_count = 0;
    int tensor_count = 0;

    std::vector<std::int64_t> time;       ///< per op, nanoseconds
    std::vector<std::int64_t> workspace;  ///< per op, bytes
    std::vector<std::int64_t> bytes;      ///< per tensor
    Lists inputs;   ///< per op: tensors that some op makes, ascending, without duplicates
    Lists outputs;  ///< per op
    Lists users;    ///< per tensor: ops that read it, ascending
    std::vector<std::int32_t> producer;  ///< per tensor, -1 for residents

    struct Pair {
        std::int32_t out, in;
        std::int64_t saved;  ///< min of the two tensors' bytes, which a run in place saves
    };
    std::vector<std::int32_t> inplace_begin{0};  ///< per op, into `inplace`
    /// Pairs whose input is made by an op. Where the input is a result, that op may run again.
    std::vector<Pair> inplace;

    std::vector<std::uint8_t> required;      ///< per op: runs at least once in every valid schedule
    std::vector<std::uint8_t> recomputable;  ///< per op
    std::vector<std::uint8_t> is_result;     ///< per tensor; false for residents
    std::vector<std::int32_t> results;       ///< tensors made by an op that must be there at the end

    /// The op between the forward and the backward program (Graph::boundary); -1: there is none.
    std::int32_t boundary = -1;

    std::int64_t resident_bytes = 0;
    std::int64_t base_time = 0;  ///< every op once: the time of the step without recomputation

    std::span<const Pair> inplace_pairs(int op) const {
        return {inplace.data() + inplace_begin[op],
                static_cast<std::size_t>(inplace_begin[op + 1] - inplace_begin[op])};
    }
};

/// Cost: linear in the size of the graph. `graph` must pass `validate`.
FlatGraph flatten(const Graph& graph);

/// Returns `flat`, the flat graph of `graph`, with the pairs that schedules with copies may use. In such
/// schedules an op may also overwrite a result that is made only once, because a copy of the result may come
/// back from the host.
FlatGraph with_results_from_host(const Graph& graph, FlatGraph flat);

/// A proven lower bound on the peak of every valid schedule without offloading: the largest footprint of a
/// required op (residents + inputs + outputs + workspace, less what running in place saves), or residents +
/// results where these are more.
struct PeakBound {
    Bytes bytes;
    OpId op;  ///< the op that sets the bound; the last op when the results do, which are held after it
    std::vector<TensorId> tensors;  ///< what is held there, residents included, heaviest first
};
PeakBound least_peak(const FlatGraph& graph);

}  // namespace rematlas
