#include "core/solvers/checkmate/best_found.h"

namespace rematlas {

bool BestFound::offer(RunSequence runs) {
    if (runs.empty() || !is_executable(graph_, runs)) return false;
    const SequenceCost cost = cost_of(graph_, runs);
    if (cost.peak > budget_ || (any() && cost.time >= time_)) return false;
    runs_ = std::move(runs);
    time_ = cost.time;
    peak_ = cost.peak;
    return true;
}

bool BestFound::offer(const Solution& solution) {
    RunSequence runs;
    for (const Step& step : solution.steps)
        if (step.runs()) runs.push_back(step.id);
    return offer(std::move(runs));
}

}  // namespace rematlas
