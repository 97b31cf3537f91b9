// What is in memory while a step of a schedule runs, and why.
//
//     const TensorLifetimes lifetimes(*schedule);
//     for (const AliveTensor& alive : lifetimes.during(step).tensors) ...
#pragma once

#include <QString>
#include <vector>

#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

/// A tensor from one making to its end.
struct AliveTensor {
    TensorId tensor;
    Bytes bytes;    ///< that it takes now: less where it is being written over another one
    int born = -1;  ///< the step that made it; -1: it was there from the beginning
    int dies = -1;  ///< the step that frees it or writes over it; -1: it stays to the end
    int next = -1;  ///< the step that reads it next, or reads it now; -1: none
    int life = -1;  ///< which of the `TensorLifetimes` it is
};

struct Alive {
    std::vector<AliveTensor> tensors;  ///< by bytes, the heaviest first
    Bytes workspace;                   ///< of the op that runs
    Bytes total() const;
};

/// The run at the cursor or before it. Without a cursor, and where the cursor lies outside of the part that
/// is looked at, the run during which that part holds the most. -1: the schedule cannot be played.
int run_looked_at(const LoadedSchedule& schedule, int cursor, const StepRange& range);

class TensorLifetimes {
  public:
    /// `schedule` must outlive it and be one that can be played. Cost: linear in the steps and what they
    /// read.
    explicit TensorLifetimes(const LoadedSchedule& schedule);

    /// While a run step runs, all together take what the simulator says that is held then. Cost: linear in
    /// the lifetimes.
    Alive during(int step) const;

    /// Steps that read it between its making and its end, ascending.
    const std::vector<int>& reads(const AliveTensor& alive) const {
        return lifetimes_[static_cast<std::size_t>(alive.life)].reads;
    }

    /// "read by mm #12 in 3.1 ms", "a result of the step", "parameter".
    QString why(const AliveTensor& alive, int step) const;

  private:
    struct Lifetime {
        TensorId tensor;
        int born = -1, dies = -1;
        std::vector<int> reads;  ///< steps, ascending
    };
    void begin(TensorId tensor, int step);
    void end(TensorId tensor, int step);

    const LoadedSchedule& schedule_;
    std::vector<Lifetime> lifetimes_;
    IdVector<TensorId, int> current_;  ///< of `lifetimes_`, -1; while they are made
    IdVector<TensorId, char> is_result_;
};

}  // namespace rematlas::explorer
