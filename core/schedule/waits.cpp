#include "core/schedule/waits.h"

#include <unordered_map>

namespace rematlas {

std::vector<Wait> waits_of(const std::vector<Step>& steps, const Simulation& simulation) {
    // A wait ends when the awaited work ends. So this map finds the work by the time at which it ends.
    std::unordered_map<std::int64_t, int> ending;
    for (const SideTrace& beside : simulation.beside)
        ending.emplace(beside.end.value, static_cast<int>(beside.step));
    std::vector<Wait> waits;
    Nanoseconds clock;
    const auto add = [&](std::size_t step, Nanoseconds until) {
        if (until <= clock) return;
        const auto cause = ending.find(until.value);
        waits.push_back({clock, until, static_cast<int>(step), cause == ending.end() ? -1 : cause->second});
    };
    for (std::size_t i = 0; i < simulation.steps.size(); ++i) {
        const StepTrace& trace = simulation.steps[i];
        add(i, steps[i].runs() ? trace.start : trace.end);
        clock = trace.end;
    }
    if (!simulation.steps.empty()) add(simulation.steps.size() - 1, simulation.time);
    return waits;
}

}  // namespace rematlas
