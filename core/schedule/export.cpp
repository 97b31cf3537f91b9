#include "core/schedule/export.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/csv.h"
#include "core/schedule/simulate.h"
#include "core/schedule/waits.h"

namespace rematlas {
namespace {

using nlohmann::json;

double microseconds(Nanoseconds time) {
    return static_cast<double>(time.value) / 1000.0;
}

/// Returns a bar of the trace in the lane `lane`.
json event(const std::string& name, const std::string& lane, Nanoseconds start, Nanoseconds end,
           json arguments) {
    return {{"name", name},
            {"cat", lane},
            {"ph", "X"},
            {"pid", 1},
            {"tid", lane},
            {"ts", microseconds(start)},
            {"dur", microseconds(end - start)},
            {"args", std::move(arguments)}};
}

json counter(const std::string& name, Nanoseconds at, Bytes bytes) {
    return {{"name", name},
            {"ph", "C"},
            {"pid", 1},
            {"ts", microseconds(at)},
            {"args", {{"bytes", bytes.value}}}};
}

json of_op(const Graph& graph, const Step& step, std::size_t index) {
    return {{"op", step.id}, {"module", graph.ops[step.op()].module}, {"step", index}};
}

const std::string& name_of(const Graph& graph, const Step& step) {
    return step.names_op() ? graph.ops[step.op()].name : graph.tensors[step.tensor()].name;
}

/// Adds the runs on the device's compute, and counters of the bytes that are held on the device.
void add_runs(const Graph& graph, const std::vector<Step>& steps, const Simulation& played, json& events) {
    IdVector<OpId, int> count(graph.ops.size(), 0);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const Step& step = steps[i];
        const StepTrace& trace = played.steps[i];
        if (step.kind == StepKind::fetch) events.push_back(counter("memory", trace.start, trace.during));
        if (!step.runs()) continue;
        const Op& op = graph.ops[step.op()];
        if (op.collective) {
            events.push_back(counter("memory", trace.start, trace.during));
            ++count[step.op()];
            continue;
        }
        const std::string lane =
            count[step.op()]++ > 0 ? std::string("recompute") : std::string(to_string(op.phase));
        events.push_back(event(op.name, lane, trace.start, trace.end, of_op(graph, step, i)));
        events.push_back(counter("memory", trace.start, trace.during));
    }
}

void add_waits(const Graph& graph, const std::vector<Step>& steps, const Simulation& played, json& events) {
    for (const Wait& wait : waits_of(steps, played)) {
        const bool known = wait.for_step >= 0;
        const std::string cause = known ? name_of(graph, steps[static_cast<std::size_t>(wait.for_step)])
                                        : "a copy of the step before";
        json arguments = {{"step", wait.step}};
        if (known) arguments["for_step"] = wait.for_step;
        events.push_back(event("waits for " + cause, "waiting", wait.start, wait.end, std::move(arguments)));
    }
}

void add_beside(const Graph& graph, const std::vector<Step>& steps, const Simulation& played, json& events) {
    for (const SideTrace& beside : played.beside) {
        const Step& step = steps[beside.step];
        if (step.names_op()) {
            const Op& op = graph.ops[step.op()];
            const std::string lane =
                step.kind == StepKind::run_host ? "on the host" : "queue " + op.collective->queue;
            events.push_back(event(op.name, lane, beside.start, beside.end, of_op(graph, step, beside.step)));
            continue;
        }
        const char* lane = beside.queue == SideQueue::to_host ? "to the host" : "to the device";
        events.push_back(event(name_of(graph, step), lane, beside.start, beside.end,
                               {{"tensor", step.id},
                                {"bytes", graph.tensors[step.tensor()].bytes.value},
                                {"step", beside.step}}));
    }
}

void add_host_memory(const Simulation& played, json& events) {
    if (played.host_peak.value == 0) return;
    std::optional<Bytes> held;
    for (const StepTrace& trace : played.steps) {
        if (trace.host == held) continue;
        held = trace.host;
        events.push_back(counter("host memory", trace.start, *held));
    }
}

}  // namespace

Result<std::string> chrome_trace(const Graph& graph, const Schedule& schedule) {
    const Result<Simulation> played = simulate(graph, schedule);
    if (!played) return played.error();
    json events = json::array();
    add_runs(graph, schedule.steps, *played, events);
    add_waits(graph, schedule.steps, *played, events);
    add_beside(graph, schedule.steps, *played, events);
    add_host_memory(*played, events);
    return json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

Result<std::string> step_table(const Graph& graph, const Schedule& schedule) {
    const Result<Simulation> played = simulate(graph, schedule);
    if (!played) return played.error();
    std::vector<std::pair<Nanoseconds, Nanoseconds>> times;
    for (const StepTrace& trace : played->steps) times.emplace_back(trace.start, trace.end);
    for (const SideTrace& beside : played->beside) times[beside.step] = {beside.start, beside.end};
    std::string text = "index,step,id,name,module,phase,start_ns,end_ns,during_bytes,after_bytes\n";
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
        const Step& step = schedule.steps[i];
        const StepTrace& trace = played->steps[i];
        const Op* op = step.names_op() ? &graph.ops[step.op()] : nullptr;
        text +=
            std::to_string(i) + ',' + std::string(to_string(step.kind)) + ',' + std::to_string(step.id) + ',';
        text += csv_field(name_of(graph, step)) + ',' + csv_field(op ? op->module : "") + ',';
        text += (op ? std::string(to_string(op->phase)) : "") + ',' + std::to_string(times[i].first.value) +
                ',' + std::to_string(times[i].second.value) + ',';
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
