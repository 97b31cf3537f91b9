#include "tests/core/support/staged_schedules.h"

#include <algorithm>
#include <functional>

#include "core/schedule/run_sequence.h"
#include "core/solving/answers.h"
#include "tests/core/support/random_graph.h"

namespace rematlas {
namespace {

/// Visits the run sequence of each choice of reruns in all stages, except sequences that take more than
/// `most_time`. A tensor is kept if it is read before it is made again.
void for_each_staged(const FlatGraph& graph, std::int64_t most_time,
                     const std::function<void(const RunSequence&, const SequenceCost&)>& visit) {
    const RunSequence order = required_once(graph);
    std::int64_t base = 0;
    for (int op : order) base += graph.time[op];
    const auto extend = [&](auto&& self, std::size_t stage, const RunSequence& runs,
                            std::int64_t left) -> void {
        if (left < 0) return;
        if (stage == order.size()) {
            if (is_executable(graph, runs)) visit(runs, cost_of(graph, runs));
            return;
        }
        for (int subset = 0; subset < 1 << stage; ++subset) {
            RunSequence next = runs;
            std::int64_t after = left;
            bool possible = true;
            for (std::size_t place = 0; place < stage; ++place) {
                if (!(subset >> place & 1)) continue;
                possible = possible && graph.recomputable[order[place]];
                next.push_back(order[place]);
                after -= graph.time[order[place]];
            }
            next.push_back(order[stage]);
            if (possible) self(self, stage + 1, next, after);
        }
    };
    extend(extend, 0, {}, most_time - base);
}

}  // namespace

std::int64_t staged_optimum(const FlatGraph& graph, std::int64_t budget) {
    std::int64_t best = kNoStagedSchedule;
    for_each_staged(graph, kNoStagedSchedule, [&](const RunSequence&, const SequenceCost& cost) {
        if (cost.peak <= budget) best = std::min(best, cost.time);
    });
    return best;
}

std::int64_t staged_least_peak(const FlatGraph& graph, std::int64_t most_time) {
    std::int64_t best = kNoStagedSchedule;
    for_each_staged(graph, most_time,
                    [&](const RunSequence&, const SequenceCost& cost) { best = std::min(best, cost.peak); });
    return best;
}

Graph graph_to_enumerate(std::uint64_t seed) {
    return random_training_graph(
        seed, {.forward_ops = 2, .several_outputs = seed % 2 == 0, .free_ops = seed % 3 == 0});
}

}  // namespace rematlas
