#include "app/explorer/session/plan_copies.h"

namespace rematlas::explorer {
namespace {

OverLink judged(const LoadedSchedule& schedule, Nanoseconds time) {
    OverLink over{.time = time, .overhead = 1, .waits = time};
    for (const Step& step : schedule.schedule.steps)
        if (step.runs()) over.waits -= schedule.graph->graph.ops[step.op()].time;
    if (schedule.graph->flat.base_time > 0)
        over.overhead = static_cast<double>(time.value) / static_cast<double>(schedule.graph->flat.base_time);
    return over;
}

}  // namespace

Copies copies_of(const LoadedGraph& graph, const Schedule& plan) {
    Copies copies;
    if (class_of(plan.steps) < ScheduleClass::with_copies && plan.homes == Homes{}) return copies;
    copies.what = Offload::all;
    for (const Offload what : {Offload::weights, Offload::activations})
        if (keeps_to(graph.graph, {.what = what}, plan)) copies.what = what;
    if (plan.links)
        copies.links = *plan.links;
    else if (graph.graph.device)
        copies.links = graph.graph.device->links;
    copies.host_budget = plan.host_budget;
    return copies;
}

OverLink over_own_link(const LoadedSchedule& schedule) {
    return judged(schedule, schedule.simulation.time);
}

Result<OverLink> over_link(const LoadedSchedule& schedule, const Links& links) {
    const Schedule& plan = schedule.schedule;
    const Result<Simulation> played = simulate(schedule.graph->graph, plan.steps, plan.homes, links);
    if (!played) return played.error();
    return judged(schedule, played->time);
}

}  // namespace rematlas::explorer
