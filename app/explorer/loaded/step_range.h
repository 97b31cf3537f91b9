// A part of a schedule.
#pragma once

namespace rematlas::explorer {

/// Steps of a schedule, both ends included; all of them when `first` is -1.
struct StepRange {
    int first = -1, last = -1;

    bool all() const { return first < 0; }
    bool contains(int step) const { return all() || (step >= first && step <= last); }
    bool operator==(const StepRange&) const = default;
};

}  // namespace rematlas::explorer
