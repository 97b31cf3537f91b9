#include "app/explorer/models/lifetime_rows.h"

#include <QCoreApplication>
#include <algorithm>

#include "app/explorer/words/wording.h"
#include "viz/paint/layers_painter.h"

namespace rematlas::explorer {
namespace {

struct LifetimeWords {
    Q_DECLARE_TR_FUNCTIONS(LifetimeWords)
};

double weight_of(const LifetimeBar& bar, LifetimeOrder order) {
    const double bytes = static_cast<double>(bar.bytes.value);
    return order == LifetimeOrder::bytes ? bytes : bytes * bar.idle();
}

/// If the tensor's bar is not among the first `most` bars, exchanges it with the last bar among them.
void bring_forward(std::vector<LifetimeBar>& bars, TensorId tensor, std::size_t most) {
    if (!tensor.valid() || bars.size() <= most || most == 0) return;
    const auto found = std::find_if(bars.begin() + static_cast<std::ptrdiff_t>(most), bars.end(),
                                    [&](const LifetimeBar& bar) { return bar.tensor == tensor; });
    if (found != bars.end()) std::iter_swap(bars.begin() + static_cast<std::ptrdiff_t>(most) - 1, found);
}

QString when(const LoadedSchedule& schedule, int step) {
    return time_text(schedule.simulation.steps[static_cast<std::size_t>(step)].start);
}

}  // namespace

LifetimeRows::LifetimeRows(SchedulePtr schedule)
    : schedule_(std::move(schedule)),
      lifetimes_(*schedule_),
      spans_(
          step_spans(schedule_->schedule.steps, schedule_->simulation, natural_axis(schedule_->simulation))),
      groups_(module_groups(schedule_->graph->graph)) {
    parts_ << text(layer_name({.kind = MemoryLayer::Kind::resident}));
    for (const std::string& name : groups_.names) parts_ << text(name);
    parts_ << text(layer_name({.kind = MemoryLayer::Kind::workspace}));
}

int LifetimeRows::part_of(TensorId tensor) const {
    const OpId maker = schedule_->graph->producer[tensor];
    return maker.valid() ? groups_.of[maker] + 1 : 0;
}

LifetimeBars LifetimeRows::at(const LifetimeQuestion& question) const {
    LifetimeBars shown{.spans = spans_, .step = run_looked_at(*schedule_, question.cursor, question.range)};
    const Alive alive = lifetimes_.during(shown.step);
    for (const AliveTensor& tensor : alive.tensors) {
        if (question.part >= 0 && part_of(tensor.tensor) != question.part) continue;
        shown.bars.push_back(bar_of(tensor));
        ++shown.tensors;
    }
    const bool has_workspace = question.part < 0 || question.part + 1 == static_cast<int>(parts_.size());
    if (has_workspace && alive.workspace.value > 0)
        shown.bars.push_back(workspace_at(shown.step, alive.workspace));
    for (const LifetimeBar& bar : shown.bars) shown.total += bar.bytes;
    std::stable_sort(shown.bars.begin(), shown.bars.end(), [&](const LifetimeBar& a, const LifetimeBar& b) {
        const double one = weight_of(a, question.order), other = weight_of(b, question.order);
        return one != other ? one > other : a.bytes > b.bytes;
    });
    bring_forward(shown.bars, question.always, question.most);
    while (shown.bars.size() > question.most) {
        ++shown.more;
        shown.more_bytes += shown.bars.back().bytes;
        shown.bars.pop_back();
    }
    return shown;
}

LifetimeBar LifetimeRows::bar_of(const AliveTensor& alive) const {
    const Graph& graph = schedule_->graph->graph;
    LifetimeBar bar{.name = tensor_name(*schedule_->graph, alive.tensor).toStdString(),
                    .shape = layout_text(graph, alive.tensor).toStdString(),
                    .tensor = alive.tensor,
                    .maker = schedule_->graph->producer[alive.tensor],
                    .bytes = alive.bytes,
                    .made = alive.born,
                    .freed = alive.dies,
                    .reads = lifetimes_.reads(alive),
                    .end = spans_.length};
    if (bar.maker.valid()) {
        bar.phase = graph.ops[bar.maker].phase;
        bar.again = alive.born > schedule_->steps_of[bar.maker].front() &&
                    schedule_->schedule.steps[static_cast<std::size_t>(alive.born)].runs();
    }
    if (bar.made >= 0) bar.begin = spans_.begin[static_cast<std::size_t>(bar.made)];
    if (bar.freed >= 0) bar.end = spans_.end[static_cast<std::size_t>(bar.freed)];
    find_idle(bar);
    return bar;
}

LifetimeBar LifetimeRows::workspace_at(int step, Bytes bytes) const {
    const OpId op = schedule_->schedule.steps[static_cast<std::size_t>(step)].op();
    return {
        .name = LifetimeWords::tr("workspace of %1").arg(numbered_op(*schedule_->graph, op)).toStdString(),
        .shape = {},
        .tensor = {},
        .maker = op,
        .phase = schedule_->graph->graph.ops[op].phase,
        .again = step > schedule_->steps_of[op].front(),
        .bytes = bytes,
        .made = step,
        .freed = step,
        .begin = spans_.begin[static_cast<std::size_t>(step)],
        .end = spans_.end[static_cast<std::size_t>(step)]};
}

void LifetimeRows::find_idle(LifetimeBar& bar) const {
    int before = bar.made;
    for (const int read : bar.reads) {
        const double begin = before < 0 ? 0 : spans_.end[static_cast<std::size_t>(before)];
        const double end = spans_.begin[static_cast<std::size_t>(read)];
        if (before >= 0 && end - begin > bar.idle()) {
            bar.idle_begin = begin;
            bar.idle_end = end;
        }
        before = read;
    }
}

QString bar_tip(const LoadedSchedule& schedule, const LifetimeBars& bars, int index) {
    const LifetimeBar& bar = bars.bars[static_cast<std::size_t>(index)];
    QStringList lines{text(bar.name)};
    if (!bar.shape.empty()) lines << text(bar.shape);
    lines << bytes_text(bar.bytes);
    if (!bar.tensor.valid()) return lines.join('\n');
    const LoadedGraph& graph = *schedule.graph;
    if (!bar.maker.valid())
        lines << kind_text(graph.graph.tensors[bar.tensor].kind);
    else if (bar.made >= 0)
        lines << (bar.again ? LifetimeWords::tr("made again by %1 at %2")
                            : LifetimeWords::tr("made by %1 at %2"))
                     .arg(numbered_op(graph, bar.maker), when(schedule, bar.made));
    if (bar.maker.valid() && !graph.graph.ops[bar.maker].module.empty())
        lines << module_text(graph.graph, graph.graph.ops[bar.maker].module);
    if (const QString line = source_text(graph, bar.tensor); !line.isEmpty())
        lines << LifetimeWords::tr("line %1").arg(line);
    lines << LifetimeWords::tr("read %1 times").arg(bar.reads.size());
    if (bar.idle() > 0) lines << LifetimeWords::tr("unused for %1").arg(text(idle_text(bars, bar)));
    lines << (bar.freed < 0 ? LifetimeWords::tr("stays to the end")
                            : LifetimeWords::tr("freed at %1").arg(when(schedule, bar.freed)));
    return lines.join('\n');
}

}  // namespace rematlas::explorer
