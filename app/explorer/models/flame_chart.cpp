#include "app/explorer/models/flame_chart.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

#include "app/explorer/words/wording.h"
#include "viz/paint/flame_painter.h"

namespace rematlas::explorer {
namespace {

struct FlameWords {
    Q_DECLARE_TR_FUNCTIONS(FlameWords)
};

/// Returns a block that contains the ops of all runs of the box; invalid if there is no such block.
BlockId common_block(const FlameChart& chart, const FlameBox& box) {
    const LoadedGraph& graph = *chart.schedule->graph;
    std::vector<BlockId> common = ancestry(graph, graph.block_of[chart.data.run(box.first).op]);
    for (int run = box.first + 1; run <= box.last && !common.empty(); ++run) {
        const std::vector<BlockId> other = ancestry(graph, graph.block_of[chart.data.run(run).op]);
        const auto [differs, ignored] =
            std::mismatch(common.begin(), common.end(), other.begin(), other.end());
        common.erase(differs, common.end());
    }
    if (common.empty()) return {};
    // Chooses the block that has the path of the module. If no common block has this path, chooses the
    // innermost common block.
    const std::string_view module = module_of(chart.data, graph.graph, box);
    for (std::size_t i = common.size(); i-- > 0;)
        if (graph.graph.blocks[common[i]].path == module) return common[i];
    return common.back();
}

QString share_text(const FlameChart& chart, Nanoseconds time) {
    const double whole = static_cast<double>(chart.data.time.value);
    return percent_text(whole > 0 ? static_cast<double>(time.value) / whole : 0);
}

QStringList run_lines(const FlameChart& chart, const FlameBox& box) {
    const Graph& graph = chart.schedule->graph->graph;
    const FlameRun& run = chart.data.run(box.first);
    const Op& op = graph.ops[run.op];
    QStringList lines{numbered_op(*chart.schedule->graph, run.op)};
    if (!op.module.empty()) lines << module_text(graph, op.module);
    const QString phase = phase_text(op.phase);
    lines << (run.on_host ? FlameWords::tr("%1, on the host").arg(phase)
              : run.again ? FlameWords::tr("%1, made again").arg(phase)
                          : phase);
    for (const TensorId made : op.outputs)
        if (const QString layout = layout_text(graph, made); !layout.isEmpty()) lines << layout;
    if (!op.source.empty()) lines << FlameWords::tr("line %1").arg(text(op.source));
    return lines;
}

}  // namespace

FlameChartPtr flame_chart(SchedulePtr schedule) {
    if (!schedule || schedule->simulation.steps.empty()) return nullptr;
    auto chart = std::make_shared<FlameChart>();
    chart->data = flame_data(schedule->graph->graph, schedule->schedule.steps, schedule->simulation,
                             natural_axis(schedule->simulation));
    chart->schedule = std::move(schedule);
    return chart;
}

Selected selected_of(const FlameChart& chart, int index) {
    const FlameBox& box = chart.data.box(index);
    if (box.is_run) return Selected::of(chart.data.run(box.first).op);
    const BlockId block = common_block(chart, box);
    return block.valid() ? Selected::of(block) : Selected();
}

int box_of(const FlameChart& chart, const Selected& selected, int cursor) {
    const IdVector<OpId, char> marked = marked_ops(*chart.schedule->graph, selected);
    if (marked.empty()) return -1;
    int wanted = chart.data.run_of_step(cursor);
    if (wanted < 0 || !marked[chart.data.run(wanted).op]) wanted = -1;
    const auto is_inside = [&](const FlameBox& box) {
        if (selected.op.valid() && !box.is_run) return false;
        if (wanted >= 0 && (wanted < box.first || wanted > box.last)) return false;
        for (int run = box.first; run <= box.last; ++run)
            if (!marked[chart.data.run(run).op]) return false;
        return true;
    };
    const auto found = std::find_if(chart.data.boxes.begin(), chart.data.boxes.end(), is_inside);
    return found == chart.data.boxes.end() ? -1 : static_cast<int>(found - chart.data.boxes.begin());
}

QString box_tip(const FlameChart& chart, int index) {
    const Graph& graph = chart.schedule->graph->graph;
    const FlameBox& box = chart.data.box(index);
    const FlameSums sums = chart.data.sums(box.first, box.last);
    if (box.is_run) {
        QStringList lines = run_lines(chart, box);
        lines << FlameWords::tr("%1, %2 of the step").arg(time_text(sums.time), share_text(chart, sums.time))
              << FlameWords::tr("%1 made, %2 held while it runs")
                     .arg(bytes_text(sums.made), bytes_text(sums.most_held));
        return lines.join('\n');
    }
    const std::string module(module_of(chart.data, graph, box));
    QStringList lines;
    if (box.parent < 0) lines << text(flame_name(chart.data, graph, box));
    if (!module.empty()) lines << module_text(graph, module);
    lines << sums_text(chart, sums);
    return lines.join('\n');
}

QString sums_text(const FlameChart& chart, const FlameSums& sums) {
    QString said = FlameWords::tr("%1 (%2 of the step), %3 runs")
                       .arg(time_text(sums.time), share_text(chart, sums.time))
                       .arg(sums.runs);
    if (sums.again > 0)
        said += FlameWords::tr(", %1 of them again (%2)").arg(sums.again).arg(time_text(sums.again_time));
    if (sums.waits.value > 0) said += FlameWords::tr(", waits of %1 between them").arg(time_text(sums.waits));
    return said + FlameWords::tr("; %1 made, at most %2 held")
                      .arg(bytes_text(sums.made), bytes_text(sums.most_held));
}

}  // namespace rematlas::explorer
