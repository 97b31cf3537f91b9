#include "core/bounds/one_moment.h"

namespace rematlas {

OverheadBound overhead_lower_bound(const FlatGraph& graph, Bytes, const BoundLimits&) {
    std::int64_t required = 0;
    for (int op = 0; op < graph.op_count; ++op) required += graph.required[op] ? graph.time[op] : 0;
    if (graph.base_time <= 0) return {.overhead = 1, .moments = 0};
    return {.overhead = static_cast<double>(required) / static_cast<double>(graph.base_time), .moments = 0};
}

}  // namespace rematlas
