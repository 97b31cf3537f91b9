// The part of a schedule that views show, as a range of its steps.
#pragma once

namespace rematlas::explorer {

/// A range of steps, both ends included; all steps if `first` is -1.
struct StepRange {
    int first = -1, last = -1;

    bool all() const { return first < 0; }
    bool contains(int step) const { return all() || (step >= first && step <= last); }
    bool operator==(const StepRange&) const = default;
};

}  // namespace rematlas::explorer
