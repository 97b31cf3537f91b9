// Says which tensors are in memory while a step of a schedule runs, and why they are.
//
//     const TensorLifetimes lifetimes(*schedule);
//     for (const AliveTensor& alive : lifetimes.during(step).tensors) ...
#pragma once

#include <QString>
#include <vector>

#include "app/explorer/loaded/loaded_schedule.h"

namespace rematlas::explorer {

/// A period in which a tensor is on the device. Begins when the tensor is made or copied back.
struct AliveTensor {
    TensorId tensor;
    Bytes bytes;    ///< bytes that the tensor adds to the memory held; less than its size in the step that
                    ///< writes the tensor in place of another tensor
    int born = -1;  ///< the step that made it or copied it back; -1 if it was there at the beginning
    int dies = -1;  ///< the step that frees it or writes over it; -1 if it stays until the end
    int next = -1;  ///< the next step that reads it, the current step included; -1 if there is none
    int life = -1;  ///< index into `TensorLifetimes::lifetimes_`
};

struct Alive {
    std::vector<AliveTensor> tensors;  ///< the heaviest first
    Bytes workspace;                   ///< bytes of the running op's workspace
    Bytes total() const;
};

/// Returns the run at the cursor, or the last run before it. If there is no cursor, or the cursor is outside
/// of `range`, returns the run of `range` during which the most bytes are held. Returns -1 if the schedule
/// cannot be simulated.
int run_looked_at(const LoadedSchedule& schedule, int cursor, const StepRange& range);

class TensorLifetimes {
  public:
    /// `schedule` must outlive this object, and it must be possible to simulate it. Cost: linear in the steps
    /// and their inputs.
    explicit TensorLifetimes(const LoadedSchedule& schedule);

    /// Returns the tensors that are alive during a step. If the step runs an op, their bytes and the
    /// workspace add up to the bytes that the simulator reports. Cost: linear in the lifetimes.
    Alive during(int step) const;

    /// Returns the steps that read the tensor during the period `alive`, ascending.
    const std::vector<int>& reads(const AliveTensor& alive) const {
        return lifetimes_[static_cast<std::size_t>(alive.life)].reads;
    }

    /// Returns why the tensor is alive: "read by mm #12 in 3.1 ms", "a result of the step", "parameter".
    QString why(const AliveTensor& alive, int step) const;

  private:
    struct Lifetime {
        TensorId tensor;
        int born = -1, dies = -1;
        std::vector<int> reads;  ///< steps that read the tensor, ascending
    };
    void begin(TensorId tensor, int step);
    void end(TensorId tensor, int step);

    const LoadedSchedule& schedule_;
    std::vector<Lifetime> lifetimes_;
    /// For each tensor: index into `lifetimes_`, or -1; only used while the lifetimes are made
    IdVector<TensorId, int> current_;
    IdVector<TensorId, char> is_result_;
};

}  // namespace rematlas::explorer
