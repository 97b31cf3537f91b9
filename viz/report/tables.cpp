#include "viz/report/tables.h"

#include <initializer_list>
#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "viz/report/step_figures.h"

namespace rematlas {
namespace {

std::string csv_line(std::initializer_list<std::string> fields) {
    std::string line;
    for (const std::string& field : fields) line += csv_field(field) + ',';
    line.back() = '\n';
    return line;
}

template <class Number>
std::string csv_number(Number number) {
    return nlohmann::json(number).dump();  // the shortest text that is exactly this number
}

}  // namespace

Result<std::string> block_table(const Graph& graph, const Schedule& schedule) {
    const Result<StepFigures> figures = step_figures(graph, schedule);
    if (!figures) return figures.error();
    std::string text = "depth,path,ops,time_ns,made_bytes,peak_bytes,reruns,extra_ns\n";
    for (const BlockFigures& block : figures->blocks)
        text += csv_line({csv_number(block.depth), block.path, csv_number(block.ops),
                          csv_number(block.time.value), csv_number(block.made.value),
                          csv_number(block.at_peak.value), csv_number(block.reruns),
                          csv_number(block.extra.value)});
    return text;
}

Result<std::string> tensor_table(const Graph& graph, const Schedule& schedule) {
    const Result<StepFigures> figures = step_figures(graph, schedule);
    if (!figures) return figures.error();
    IdVector<TensorId, Bytes> at_peak(graph.tensors.size());
    for (const HeldTensor& held : figures->at_peak.tensors) at_peak[held.tensor] = held.bytes;
    IdVector<OpId, int> runs(graph.ops.size(), 0);
    for (const Step& step : schedule.steps)
        if (step.runs()) ++runs[step.op()];
    std::string text = "id,name,kind,bytes,op,module,peak_bytes,times_made\n";
    for (TensorId t : graph.tensors.ids()) {
        const Tensor& tensor = graph.tensors[t];
        const OpId maker = figures->makers[t];
        const Op* op = maker.valid() ? &graph.ops[maker] : nullptr;
        text += csv_line({csv_number(t.value), tensor.name, std::string(to_string(tensor.kind)),
                          csv_number(tensor.bytes.value), op ? op->name : "", op ? op->module : "",
                          csv_number(at_peak[t].value), csv_number(op ? runs[maker] : 0)});
    }
    return text;
}

std::string point_table(const Sweep& sweep) {
    std::string text = "solver,budget_bytes,status,peak_bytes,overhead,bound,gap,offload\n";
    for (const SweepCurve& curve : sweep.curves) {
        for (const SweepPoint& point : curve.points) {
            const bool found = point.peak.value > 0;
            text +=
                csv_line({curve.solver, csv_number(point.budget.value), point.status,
                          found ? csv_number(point.peak.value) : "", found ? csv_number(point.overhead) : "",
                          point.bound ? csv_number(point.bound->overhead) : "",
                          found && point.bound ? csv_number(point.bound->gap) : "",
                          std::string(to_string(curve.copies.what))});
        }
    }
    return text;
}

}  // namespace rematlas
