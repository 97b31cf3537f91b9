#include "core/bounds/moment_chain.h"

#include <algorithm>
#include <set>

namespace rematlas {
namespace {

/// Chooses `most` of the indices 0 .. count-1: `kept`, and others that are spread evenly. Returns the chosen
/// indices in ascending order.
std::vector<int> spread(int count, int most, int kept) {
    std::set<int> chosen{kept};
    for (int i = 0; i < most && static_cast<int>(chosen.size()) < most; ++i)
        chosen.insert(static_cast<int>(static_cast<std::int64_t>(i) * (count - 1) / std::max(most - 1, 1)));
    return {chosen.begin(), chosen.end()};
}

std::vector<int> longest_path(const FlatGraph& graph, const std::vector<double>& weight) {
    std::vector<double> length(graph.op_count, 0);
    std::vector<int> before(graph.op_count, -1);
    int end = -1;
    for (int op = 0; op < graph.op_count; ++op) {
        if (!graph.required[op]) continue;
        for (int t : graph.inputs[op]) {
            const int maker = graph.producer[t];
            if (length[maker] <= length[op]) continue;
            length[op] = length[maker];
            before[op] = maker;
        }
        length[op] += weight[op];
        if (weight[op] > 0 && (end < 0 || length[op] > length[end])) end = op;
    }
    std::vector<int> path;
    for (int op = end; op >= 0; op = before[op]) {
        if (weight[op] > 0) path.push_back(op);
    }
    std::reverse(path.begin(), path.end());
    return path;
}

}  // namespace

std::vector<std::int64_t> memory_without_reruns(const FlatGraph& flat) {
    std::vector<int> last(flat.tensor_count, -1);
    for (int op = 0; op < flat.op_count; ++op) {
        if (!flat.required[op]) continue;
        for (int t : flat.outputs[op]) last[t] = op;
        for (int t : flat.inputs[op]) last[t] = op;
    }
    for (int t : flat.results) last[t] = flat.op_count;
    std::vector<std::int64_t> during(flat.op_count, 0);
    std::int64_t alive = flat.resident_bytes;
    for (int op = 0; op < flat.op_count; ++op) {
        if (!flat.required[op]) continue;
        for (int t : flat.outputs[op]) alive += flat.bytes[t];
        during[op] = alive + flat.workspace[op];
        for (const auto list : {flat.inputs[op], flat.outputs[op]}) {
            for (int t : list) alive -= last[t] == op ? flat.bytes[t] : 0;
        }
    }
    return during;
}

MomentChain moment_chain(const FlatGraph& graph, std::int64_t budget, int most) {
    const std::vector<std::int64_t> during = memory_without_reruns(graph);
    std::vector<double> weight(graph.op_count, 0);
    for (int op = 0; op < graph.op_count; ++op) {
        if (during[op] <= budget) continue;
        std::int64_t own = graph.workspace[op];
        for (const auto list : {graph.inputs[op], graph.outputs[op]}) {
            for (int t : list) own += graph.bytes[t];
        }
        weight[op] = 1 + static_cast<double>(own) / static_cast<double>(std::max<std::int64_t>(budget, 1));
    }
    MomentChain chain;
    chain.ops = longest_path(graph, weight);
    const auto fullest = [&] {
        return static_cast<int>(std::max_element(chain.ops.begin(), chain.ops.end(),
                                                 [&](int a, int b) { return during[a] < during[b]; }) -
                                chain.ops.begin());
    };
    if (chain.ops.empty()) return chain;
    // While memory still rises, a tensor that is not kept at a moment is not kept at the fullest moment (the
    // one with the most memory) either. So moments before the fullest would double the size of relaxations
    // without a better bound. Only the moment right before the fullest sometimes helps.
    if (const int before = fullest() - 1; before > 0)
        chain.ops.erase(chain.ops.begin(), chain.ops.begin() + before);
    const int count = static_cast<int>(chain.ops.size());
    if (most > 0 && most < count) {
        std::vector<int> some;
        for (int index : spread(count, most, fullest())) some.push_back(chain.ops[index]);
        chain.ops = std::move(some);
    }
    chain.fullest = fullest();
    return chain;
}

MomentWindows moment_windows(const FlatGraph& graph, const MomentChain& chain) {
    const int moments = static_cast<int>(chain.ops.size());
    std::vector<int> moment(graph.op_count, 0);
    for (int k = 1; k <= moments; ++k) moment[chain.ops[k - 1]] = k;
    MomentWindows windows{.first = std::vector<int>(graph.op_count, 0),
                          .last = std::vector<int>(graph.op_count, moments)};
    for (int op = 0; op < graph.op_count; ++op) {
        for (int t : graph.inputs[op]) {
            const int maker = graph.producer[t];
            windows.first[op] = std::max(windows.first[op], std::max(windows.first[maker], moment[maker]));
        }
    }
    for (int op = graph.op_count; op-- > 0;) {
        if (!graph.required[op]) continue;
        if (moment[op] > 0) windows.last[op] = moment[op] - 1;
        for (int t : graph.inputs[op]) {
            int& last = windows.last[graph.producer[t]];
            last = std::min(last, windows.last[op]);
        }
    }
    return windows;
}

}  // namespace rematlas
