// A run sequence with its time and its peak.
#pragma once

#include <cstdint>
#include <utility>

#include "core/schedule/run_sequence.h"

namespace rematlas {

struct Candidate {
    RunSequence runs;
    std::int64_t time = 0;
    std::int64_t peak = 0;

    /// Returns the candidate with these runs, which must be executable. Runs that the graph's boundary
    /// forbids are left out (`once_a_side`). Cost: linear.
    static Candidate of(const FlatGraph& graph, RunSequence runs) {
        runs = once_a_side(graph, std::move(runs));
        const SequenceCost cost = cost_of(graph, runs);
        return {std::move(runs), cost.time, cost.peak};
    }

    /// A candidate within the budget is better than one over it. Within the budget, less time is better,
    /// then a lower peak; over the budget, a lower peak is better, then less time.
    bool better_than(const Candidate& other, std::int64_t budget) const {
        const bool fits = peak <= budget, other_fits = other.peak <= budget;
        if (fits != other_fits) return fits;
        if (fits) return std::pair(time, peak) < std::pair(other.time, other.peak);
        return std::pair(peak, time) < std::pair(other.peak, other.time);
    }
};

}  // namespace rematlas
