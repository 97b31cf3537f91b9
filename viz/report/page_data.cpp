#include "viz/report/page_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/bounds/least_memory.h"
#include "core/graph/flat_graph.h"
#include "core/schedule/homes.h"
#include "core/schedule/simulate.h"
#include "core/schedule/waits.h"
#include "viz/paint/module_groups.h"
#include "viz/paint/sweep_curves.h"
#include "viz/report/block_geometry.h"
#include "viz/report/packed_column.h"
#include "viz/report/plain_step.h"

namespace rematlas {
namespace {

using nlohmann::json;

json tensor_columns(const Graph& graph, PageStrings& strings) {
    PackedColumn name, kind, bytes, layout;
    for (const Tensor& tensor : graph.tensors) {
        name.add_change(strings.place_of(tensor.name));
        kind.add(static_cast<std::int64_t>(tensor.kind));
        bytes.add(tensor.bytes.value);
        layout.add(strings.place_of(tensor.layout ? to_string(*tensor.layout) : ""));
    }
    return {{"name", name.take()}, {"kind", kind.take()}, {"bytes", bytes.take()}, {"layout", layout.take()}};
}

void add_list(PackedColumn& column, const std::vector<TensorId>& tensors) {
    column.add(static_cast<std::int64_t>(tensors.size()));
    for (const TensorId tensor : tensors) column.add_change(tensor.value);
}

json op_columns(const Graph& graph, const ModuleGroups& groups, PageStrings& strings) {
    PackedColumn name, module, source, phase, time, workspace, of, group, flags, inputs, outputs, inplace;
    for (const OpId id : graph.ops.ids()) {
        const Op& op = graph.ops[id];
        name.add(strings.place_of(op.name));
        module.add(strings.place_of(op.module));
        source.add(strings.place_of(op.source));
        phase.add(static_cast<std::int64_t>(op.phase));
        time.add(op.time.value);
        workspace.add(op.workspace.value);
        of.add_change(op.of ? op.of->value : -1);
        group.add(groups.of[id]);
        flags.add((op.random ? 1 : 0) + (op.recomputable ? 0 : 2));
        add_list(inputs, op.inputs);
        add_list(outputs, op.outputs);
        inplace.add(static_cast<std::int64_t>(op.inplace.size()));
        for (const InplacePair& pair : op.inplace) {
            inplace.add_change(pair.out.value);
            inplace.add_change(pair.in.value);
        }
    }
    return {{"name", name.take()},     {"module", module.take()},   {"source", source.take()},
            {"phase", phase.take()},   {"time", time.take()},       {"workspace", workspace.take()},
            {"of", of.take()},         {"group", group.take()},     {"flags", flags.take()},
            {"inputs", inputs.take()}, {"outputs", outputs.take()}, {"inplace", inplace.take()}};
}

/// Returns the letter of the kind. The letters are in the order of the enumeration.
char letter_of(StepKind kind) {
    return "rifotdh"[static_cast<std::size_t>(kind)];
}

/// Returns the column, or an empty text if all of its numbers are 0.
std::string unless_zero(const std::vector<std::int64_t>& numbers) {
    PackedColumn column;
    bool any = false;
    for (const std::int64_t number : numbers) {
        any = any || number != 0;
        column.add(number);
    }
    return any ? column.take() : std::string();
}

void add_steps(json& plan, const Graph& graph, const std::vector<Step>& steps, const Simulation& played) {
    std::string kinds;
    PackedColumn ids, during, host;
    std::vector<std::int64_t> gaps, lengths;
    Nanoseconds clock;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const StepTrace& trace = played.steps[i];
        const Nanoseconds own = steps[i].runs() ? graph.ops[steps[i].op()].time : Nanoseconds();
        kinds += letter_of(steps[i].kind);
        ids.add_change(steps[i].id);
        during.add_change(trace.during.value);
        host.add_change(trace.host.value);
        gaps.push_back((trace.start - clock).value);
        lengths.push_back((trace.end - trace.start - own).value);
        clock = trace.end;
    }
    plan["kinds"] = kinds;
    plan["ids"] = ids.take();
    plan["during"] = during.take();
    plan["gaps"] = unless_zero(gaps);
    plan["lengths"] = unless_zero(lengths);
    plan["host"] = played.host_peak.value > 0 ? host.take() : std::string();
}

void add_what_goes_on_beside(json& plan, const Graph& graph, const std::vector<Step>& steps,
                             const Simulation& played) {
    const Queues queues = queues_of(graph);
    plan["queues"] = queues.names;
    PackedColumn beside, waits;
    for (const SideTrace& trace : played.beside) {
        const bool in_queue = trace.queue == SideQueue::collective;
        beside.add(static_cast<std::int64_t>(trace.queue) +
                   (in_queue ? queues.of[steps[trace.step].op()] : 0));
        beside.add(static_cast<std::int64_t>(trace.step));
        beside.add(trace.start.value);
        beside.add((trace.end - trace.start).value);
    }
    for (const Wait& wait : waits_of(steps, played)) {
        waits.add(wait.step);
        waits.add(wait.start.value);
        waits.add((wait.end - wait.start).value);
    }
    plan["beside"] = beside.take();
    plan["waits"] = waits.take();
}

}  // namespace

Result<json> plan_data(const Graph& graph, const ReportedSchedule& reported) {
    const Schedule& schedule = *reported.schedule;
    const Result<Simulation> played = simulate(graph, schedule);
    if (!played) return Error{reported.name + ": " + played.error().message, ErrorKind::negative};
    json plan{{"name", reported.name},
              {"solver", schedule.solver},
              {"status", schedule.status},
              {"budget", schedule.budget.value},
              {"peak", played->peak.value},
              {"peak_step", played->peak_step},
              {"time", played->time.value},
              {"overhead", schedule.overhead},
              {"bound", schedule.bound ? json(schedule.bound->overhead) : json()},
              {"resident", always_on_device(graph, schedule.steps, schedule.homes).value},
              {"host_peak", played->host_peak.value}};
    add_steps(plan, graph, schedule.steps, *played);
    add_what_goes_on_beside(plan, graph, schedule.steps, *played);
    PackedColumn start;
    const IdVector<TensorId, char> there = on_device_at_start(graph, schedule.homes);
    for (const TensorId tensor : graph.tensors.ids())
        if (there[tensor]) start.add_change(tensor.value);
    plan["start"] = start.take();
    return plan;
}

namespace {

/// Returns the index of the schedule in `schedules` that has the peak and the overhead of the point, or -1.
int plan_of(const SweepPoint& point, const std::vector<ReportedSchedule>& schedules) {
    for (std::size_t i = 0; i < schedules.size(); ++i) {
        const Schedule& schedule = *schedules[i].schedule;
        if (schedule.peak == point.peak && std::abs(schedule.overhead - point.overhead) < 1e-9)
            return static_cast<int>(i);
    }
    return -1;
}

json curve_json(const SweepCurve& curve, const std::vector<ReportedSchedule>& schedules) {
    json points = json::array();
    for (const SweepPoint& point : curve.points)
        points.push_back({{"budget", point.budget.value},
                          {"peak", was_found(point) ? json(point.peak.value) : json()},
                          {"overhead", point.overhead},
                          {"bound", point.bound ? json(point.bound->overhead) : json()},
                          {"status", point.status},
                          {"plan", was_found(point) ? plan_of(point, schedules) : -1}});
    return {{"name", curve_name(curve)},
            {"look", curve_look(curve)},
            {"dash", curve_dash(curve)},
            {"best", found_in(curve).best},
            {"points", std::move(points)}};
}

}  // namespace

json sweep_data(const Sweep& sweep, const std::vector<ReportedSchedule>& plans) {
    json data{{"curves", json::array()}, {"bounds", json::array()}};
    for (const SweepCurve& curve : sweep.curves) data["curves"].push_back(curve_json(curve, plans));
    for (const BoundCurve& bound : bound_curves(sweep)) {
        json steps = json::array();
        for (const BoundStep& step : bound.steps) steps.push_back({step.budget.value, step.overhead});
        data["bounds"].push_back({{"name", bound_name(bound)}, {"steps", std::move(steps)}});
    }
    return data;
}

namespace {

void add_sweeps(json& page, const ReportOf& of, const std::vector<ReportedSchedule>& schedules) {
    page["curves"] = json::array();
    page["bounds"] = json::array();
    for (const Sweep* sweep : of.sweeps) {
        json data = sweep_data(*sweep, schedules);
        for (const char* part : {"curves", "bounds"})
            for (json& one : data[part]) page[part].push_back(std::move(one));
    }
}

void add_graph(json& page, const Graph& graph, const LayoutLimits& limits) {
    PageStrings strings;
    const ModuleGroups groups = module_groups(graph);
    page["tensors"] = tensor_columns(graph, strings);
    page["classes"] = graph.module_classes;
    page["ops"] = op_columns(graph, groups, strings);
    page["groups"] = groups.names;
    PackedColumn results;
    for (const TensorId tensor : graph.results) results.add_change(tensor.value);
    page["results"] = results.take();
    Result<json> blocks = block_geometry(graph, strings, limits);
    page["blocks"] = blocks ? blocks.take() : json{{"missing", blocks.error().message}};
    page["strings"] = strings.all();
}

auto place_of_plain(const std::vector<ReportedSchedule>& plans, const Schedule& plain) {
    const auto is_plain = [&](const ReportedSchedule& one) { return one.schedule->steps == plain.steps; };
    return std::find_if(plans.begin(), plans.end(), is_plain);
}

}  // namespace

std::vector<ReportedSchedule> plans_of_page(const std::vector<ReportedSchedule>& given,
                                            const Schedule& plain) {
    std::vector<ReportedSchedule> plans = given;
    if (place_of_plain(given, plain) == given.end()) plans.push_back({"without recomputation", &plain});
    return plans;
}

Result<json> page_data(const ReportOf& of) {
    json page{{"name", of.graph ? of.graph->name : of.sweeps.front()->graph}, {"made_by", of.made_by}};
    if (of.use == PageUse::served) page["served"] = true;
    std::vector<ReportedSchedule> schedules = of.schedules;
    Schedule plain;
    if (of.graph) {
        plain = plain_step(*of.graph);
        schedules = plans_of_page(of.schedules, plain);
        page["plain"] = place_of_plain(schedules, plain) - schedules.begin();
        page["least"] = least_memory(flatten(*of.graph)).bytes.value;
        page["plans"] = json::array();
        for (const ReportedSchedule& schedule : schedules) {
            Result<json> plan = plan_data(*of.graph, schedule);
            if (!plan) return plan.error();
            page["plans"].push_back(plan.take());
        }
        add_graph(page, *of.graph, of.layout);
    }
    add_sweeps(page, of, schedules);
    return page;
}

}  // namespace rematlas
