#include "core/planning/batch_family.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace rematlas {
namespace {

bool same_structure(const Graph& a, const Graph& b) {
    const auto key = [](const Op& op) { return std::tie(op.name, op.inputs, op.outputs, op.phase); };
    return a.tensors.size() == b.tensors.size() && a.results == b.results &&
           std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(),
                      [&](const Op& x, const Op& y) { return key(x) == key(y); });
}

/// Linear interpolation and extrapolation. `at` returns the value at x of the line through (x0, y0) and (x1,
/// y1), rounded up and not below 0. It returns nothing if the value is 2^61 or more. x0 must be less than x1.
struct Line {
    std::int64_t x0, x1, x;

    std::optional<std::int64_t> at(std::int64_t y0, std::int64_t y1) const {
        constexpr __int128 limit = std::int64_t{1} << 61;
        const __int128 run = x1 - x0;
        const __int128 scaled = __int128(y0) * run + (__int128(y1) - y0) * (x - x0);
        const __int128 y = scaled <= 0 ? 0 : (scaled + run - 1) / run;
        if (y >= limit) return std::nullopt;
        return static_cast<std::int64_t>(y);
    }
};

}  // namespace

void BatchFamily::add(std::int64_t batch, Graph graph) {
    members_.insert_or_assign(batch, std::move(graph));
}

std::optional<Graph> BatchFamily::graph_at(std::int64_t batch) const {
    std::vector<std::int64_t> nearest;
    for (const auto& member : members_) nearest.push_back(member.first);
    std::stable_sort(nearest.begin(), nearest.end(), [&](std::int64_t a, std::int64_t b) {
        return std::llabs(a - batch) < std::llabs(b - batch);
    });
    if (nearest.size() < 2) return std::nullopt;
    const auto [first, second] = std::minmax(nearest[0], nearest[1]);
    const Graph& low = members_.at(first);
    const Graph& high = members_.at(second);
    if (!same_structure(low, high)) return std::nullopt;

    Graph graph = low;
    graph.replay.reset();
    graph.provenance.reset();
    graph.sha256.clear();
    const Line line{first, second, batch};
    for (TensorId tensor : graph.tensors.ids()) {
        const auto bytes = line.at(low.tensors[tensor].bytes.value, high.tensors[tensor].bytes.value);
        if (!bytes) return std::nullopt;
        graph.tensors[tensor].bytes = Bytes(*bytes);
        graph.tensors[tensor].layout.reset();
    }
    for (OpId op : graph.ops.ids()) {
        const auto time = line.at(low.ops[op].time.value, high.ops[op].time.value);
        const auto workspace = line.at(low.ops[op].workspace.value, high.ops[op].workspace.value);
        if (!time || !workspace) return std::nullopt;
        graph.ops[op].time = Nanoseconds(*time);
        graph.ops[op].workspace = Bytes(*workspace);
    }
    if (!validate(graph)) return std::nullopt;  // e.g. sums beyond 62 bits
    return graph;
}

}  // namespace rematlas
