#include "app/explorer/models/item_heat.h"

#include <algorithm>
#include <cmath>

#include "app/explorer/models/block_sums.h"
#include "app/explorer/words/wording.h"
#include "viz/block_view/block_view.h"

namespace rematlas::explorer {
namespace {

constexpr double mebibyte = 1 << 20;

/// Returns for each item the sum of `figure` over the ops of the item.
template <class Figure>
std::vector<double> sum_over_ops(const Ladder& ladder, const Graph& graph, Figure figure) {
    std::vector<double> sums(ladder.view.items.size(), 0);
    for (const OpId op : graph.ops.ids())
        if (const int item = ladder.item_of[op]; item >= 0)
            sums[static_cast<std::size_t>(item)] += static_cast<double>(figure(op));
    return sums;
}

template <class Words>
ItemHeat from_zero(std::vector<double> figures, Words words) {
    const double most = figures.empty() ? 0 : *std::max_element(figures.begin(), figures.end());
    if (most <= 0) return {};
    for (double& figure : figures) figure /= most;
    return {.shares = std::move(figures), .least = words(0), .half = words(most / 2), .most = words(most)};
}

QString cost_words(double nanoseconds) {
    return QStringLiteral("%1/MiB").arg(time_text(Nanoseconds(std::llround(nanoseconds))));
}

/// Maps costs to numbers from 0 to 1 on a logarithmic scale, because the costs of items differ by orders of
/// magnitude. Items without a cost get -1.
ItemHeat by_powers(std::vector<double> figures) {
    double least = 0, most = 0;
    for (const double figure : figures) {
        if (figure <= 0) continue;
        least = least == 0 ? figure : std::min(least, figure);
        most = std::max(most, figure);
    }
    if (most == 0) return {};
    const double range = std::log(most / least);
    for (double& figure : figures)
        figure = figure <= 0 ? -1 : range > 0 ? std::log(figure / least) / range : 1;
    return {.shares = std::move(figures),
            .least = cost_words(least),
            .half = cost_words(std::sqrt(least * most)),
            .most = cost_words(most)};
}

ItemHeat cost_to_rerun(const Ladder& ladder, const Graph& graph) {
    const auto runs_again = [&](OpId op) { return graph.ops[op].phase == Phase::forward; };
    std::vector<double> costs =
        sum_over_ops(ladder, graph, [&](OpId op) { return runs_again(op) ? graph.ops[op].time.value : 0; });
    const std::vector<double> made = sum_over_ops(
        ladder, graph, [&](OpId op) { return runs_again(op) ? bytes_made(graph, op).value : 0; });
    for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = made[i] > 0 ? costs[i] * mebibyte / made[i] : 0;
    return by_powers(std::move(costs));
}

}  // namespace

ItemHeat item_heat(const Ladder& ladder, const LoadedSchedule& schedule, ItemColors colors) {
    const Graph& graph = schedule.graph->graph;
    switch (colors) {
        case ItemColors::bytes_at_peak: {
            const BlockSums sums = block_sums(schedule);
            return from_zero(sum_over_ops(ladder, graph, [&](OpId op) { return sums.ops[op].at_peak.value; }),
                             [](double bytes) { return bytes_text(Bytes(std::llround(bytes))); });
        }
        case ItemColors::time:
            return from_zero(sum_over_ops(ladder, graph,
                                          [&](OpId op) {
                                              return graph.ops[op].time.value *
                                                     static_cast<std::int64_t>(schedule.steps_of[op].size());
                                          }),
                             [](double time) { return time_text(Nanoseconds(std::llround(time))); });
        case ItemColors::cost_to_rerun:
            return cost_to_rerun(ladder, graph);
        case ItemColors::decision:
        case ItemColors::phase:
            break;
    }
    return {};
}

}  // namespace rematlas::explorer
