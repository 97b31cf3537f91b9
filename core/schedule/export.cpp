#include "core/schedule/export.h"

#include <nlohmann/json.hpp>

#include "core/base/csv.h"
#include "core/schedule/simulate.h"

namespace rematlas {
namespace {

using nlohmann::json;

double microseconds(Nanoseconds time) {
    return static_cast<double>(time.value) / 1000.0;
}

}  // namespace

Result<std::string> chrome_trace(const Graph& graph, const Schedule& schedule) {
    const Result<Simulation> played = simulate(graph, schedule);
    if (!played) return played.error();
    json events = json::array();
    IdVector<OpId, int> count(graph.ops.size(), 0);
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
        const StepTrace& trace = played->steps[i];
        if (!schedule.steps[i].runs()) continue;
        const OpId id = schedule.steps[i].op();
        const Op& op = graph.ops[id];
        const bool again = count[id]++ > 0;
        events.push_back({{"name", op.name},
                          {"cat", again ? "recompute" : std::string(to_string(op.phase))},
                          {"ph", "X"},
                          {"pid", 1},
                          {"tid", again ? "recompute" : std::string(to_string(op.phase))},
                          {"ts", microseconds(trace.start)},
                          {"dur", microseconds(trace.end - trace.start)},
                          {"args", {{"op", id.value}, {"module", op.module}, {"step", i}}}});
        events.push_back({{"name", "memory"},
                          {"ph", "C"},
                          {"pid", 1},
                          {"ts", microseconds(trace.start)},
                          {"args", {{"bytes", trace.during.value}}}});
    }
    return json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

Result<std::string> step_table(const Graph& graph, const Schedule& schedule) {
    const Result<Simulation> played = simulate(graph, schedule);
    if (!played) return played.error();
    std::string text = "index,step,id,name,module,phase,start_ns,end_ns,during_bytes,after_bytes\n";
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
        const Step& step = schedule.steps[i];
        const StepTrace& trace = played->steps[i];
        const Op* op = step.names_op() ? &graph.ops[step.op()] : nullptr;
        text +=
            std::to_string(i) + ',' + std::string(to_string(step.kind)) + ',' + std::to_string(step.id) + ',';
        text += csv_field(op ? op->name : graph.tensors[step.tensor()].name) + ',' +
                csv_field(op ? op->module : "") + ',';
        text += (op ? std::string(to_string(op->phase)) : "") + ',' + std::to_string(trace.start.value) +
                ',' + std::to_string(trace.end.value) + ',';
        text += std::to_string(trace.during.value) + ',' + std::to_string(trace.after.value) + '\n';
    }
    return text;
}

Result<std::string> dot_graph(const Graph& graph, const Schedule& schedule) {
    if (const Result<Simulation> played = simulate(graph, schedule); !played) return played.error();
    std::string text = "digraph " + json(schedule.graph).dump() + " {\n  node [shape=box];\n";
    IdVector<OpId, int> count(graph.ops.size(), 0);
    IdVector<TensorId, std::string> maker(graph.tensors.size());
    for (const Step& step : schedule.steps) {
        if (!step.runs()) continue;
        const Op& op = graph.ops[step.op()];
        const bool again = count[step.op()] > 0;
        const std::string node = "r" + std::to_string(step.id) + "_" + std::to_string(count[step.op()]++);
        text += "  " + node + " [label=" + json(op.name + "\n" + op.module).dump() +
                (again ? ", style=dashed" : "") + "];\n";
        for (TensorId t : op.inputs) {
            if (!maker[t].empty())
                text += "  " + maker[t] + " -> " + node + " [tooltip=" + json(graph.tensors[t].name).dump() +
                        "];\n";
        }
        for (TensorId t : op.outputs) maker[t] = node;
    }
    return text + "}\n";
}

}  // namespace rematlas
