#include "app/explorer/loaded/over_link.h"

namespace rematlas::explorer {
namespace {

OverLink judged(const LoadedSchedule& schedule, Nanoseconds time) {
    OverLink over{.time = time, .overhead = schedule.graph->flat.overhead_of(time.value), .waits = time};
    for (const Step& step : schedule.schedule.steps) {
        if (!step.runs()) continue;
        const Op& op = schedule.graph->graph.ops[step.op()];
        if (!op.collective) over.waits -= op.time;
    }
    return over;
}

}  // namespace

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
