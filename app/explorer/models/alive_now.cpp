#include "app/explorer/models/alive_now.h"

#include <QCoreApplication>
#include <algorithm>

#include "app/explorer/words/wording.h"
#include "core/schedule/homes.h"

namespace rematlas::explorer {
namespace {

struct AliveNow {
    Q_DECLARE_TR_FUNCTIONS(AliveNow)
};

}  // namespace

Bytes Alive::total() const {
    Bytes sum = workspace;
    for (const AliveTensor& alive : tensors) sum += alive.bytes;
    return sum;
}

int run_looked_at(const LoadedSchedule& schedule, int cursor, const StepRange& range) {
    const std::vector<Step>& steps = schedule.schedule.steps;
    int step = cursor < 0 || !range.contains(cursor) ? heaviest_step(schedule, range) : cursor;
    while (step > 0 && !steps[static_cast<std::size_t>(step)].runs()) --step;
    return step;
}

TensorLifetimes::TensorLifetimes(const LoadedSchedule& schedule)
    : schedule_(schedule),
      current_(schedule.graph->graph.tensors.size(), -1),
      is_result_(schedule.graph->graph.tensors.size(), 0) {
    const Graph& graph = schedule.graph->graph;
    for (const TensorId result : graph.results) is_result_[result] = 1;
    const IdVector<TensorId, char> there = on_device_at_start(graph, schedule.schedule.homes);
    for (const TensorId tensor : graph.tensors.ids())
        if (there[tensor]) begin(tensor, -1);
    for (int i = 0; i < static_cast<int>(schedule.schedule.steps.size()); ++i) {
        const Step& step = schedule.schedule.steps[static_cast<std::size_t>(i)];
        if (step.kind == StepKind::free) end(step.tensor(), i);
        if (step.kind == StepKind::fetch) begin(step.tensor(), i);
        if (!step.runs()) continue;
        const Op& op = graph.ops[step.op()];
        for (const TensorId input : op.inputs)
            if (current_[input] >= 0)
                lifetimes_[static_cast<std::size_t>(current_[input])].reads.push_back(i);
        if (step.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace) end(pair.in, i);
        for (const TensorId output : op.outputs) {
            end(output, i);
            begin(output, i);
        }
    }
}

void TensorLifetimes::begin(TensorId tensor, int step) {
    current_[tensor] = static_cast<int>(lifetimes_.size());
    lifetimes_.push_back({.tensor = tensor, .born = step, .dies = -1, .reads = {}});
}

void TensorLifetimes::end(TensorId tensor, int step) {
    if (current_[tensor] < 0) return;
    lifetimes_[static_cast<std::size_t>(current_[tensor])].dies = step;
    current_[tensor] = -1;
}

Alive TensorLifetimes::during(int step) const {
    const Graph& graph = schedule_.graph->graph;
    const Step& at = schedule_.schedule.steps[static_cast<std::size_t>(step)];
    Alive alive;
    for (std::size_t i = 0; i < lifetimes_.size(); ++i) {
        const Lifetime& life = lifetimes_[i];
        if (life.born > step || (life.dies >= 0 && life.dies < step)) continue;
        const auto next = std::lower_bound(life.reads.begin(), life.reads.end(), step);
        alive.tensors.push_back({.tensor = life.tensor,
                                 .bytes = graph.tensors[life.tensor].bytes,
                                 .born = life.born,
                                 .dies = life.dies,
                                 .next = next == life.reads.end() ? -1 : *next,
                                 .life = static_cast<int>(i)});
    }
    if (at.runs()) {
        const Op& op = graph.ops[at.op()];
        alive.workspace = op.workspace;
        if (at.kind == StepKind::run_inplace)
            for (const InplacePair& pair : op.inplace)
                for (AliveTensor& tensor : alive.tensors)
                    if (tensor.tensor == pair.out && tensor.born == step)
                        tensor.bytes -= std::min(tensor.bytes, graph.tensors[pair.in].bytes);
    }
    std::stable_sort(alive.tensors.begin(), alive.tensors.end(),
                     [](const AliveTensor& a, const AliveTensor& b) { return a.bytes > b.bytes; });
    return alive;
}

QString TensorLifetimes::why(const AliveTensor& alive, int step) const {
    const Graph& graph = schedule_.graph->graph;
    if (!schedule_.graph->producer[alive.tensor].valid()) return kind_text(graph.tensors[alive.tensor].kind);
    if (alive.born == step) return AliveNow::tr("made now");
    if (alive.next == step) return AliveNow::tr("read now");
    if (alive.next >= 0) {
        const std::vector<StepTrace>& trace = schedule_.simulation.steps;
        const Nanoseconds wait =
            trace[static_cast<std::size_t>(alive.next)].start - trace[static_cast<std::size_t>(step)].end;
        const OpId reader = schedule_.schedule.steps[static_cast<std::size_t>(alive.next)].op();
        return AliveNow::tr("read by %1 in %2").arg(numbered_op(*schedule_.graph, reader), time_text(wait));
    }
    if (alive.dies < 0 && is_result_[alive.tensor]) return AliveNow::tr("a result of the step");
    return AliveNow::tr("not read any more");
}

}  // namespace rematlas::explorer
