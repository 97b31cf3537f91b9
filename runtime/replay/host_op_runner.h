// Runs ops of a step on the host: CPU kernels work on the bytes in host memory, as tensors of the CPU.
//
//     HostOpRunner runner(model, transfers, player);
//     copies.run(runner.work(step, operands));    // or give it to a TransferPlayer
//     ... when the step is done ...
//     runner.rethrow();
//
// Updates give the same bits as the same fused op on the CPU. A GPU's own kernel may give other bits, so `run
// --verify` compares with an original that is updated on the host as well.
#pragma once

#include <functional>
#include <memory>

#include "runtime/replay/bound_model.h"
#include "runtime/transfers/transfer_player.h"

namespace rematlas {

/// Fails if the plan runs an op on the host that cannot run there: an op that makes tensors, draws random
/// numbers, is the caller's loss, or waits for a number on the device.
Result<void> check_host_ops(const BoundModel& model, const TransferPlan& plan);

class HostOpRunner {
  public:
    /// `plan` must have passed `check_host_ops`. `player` must know the addresses of the plan's places. All
    /// three arguments must outlive the submitted work.
    HostOpRunner(const BoundModel& model, const TransferPlan& plan, const TransferPlayer& player);
    /// Returns the work of step `step` of the schedule. Numbers that are in host memory anyway (a learning
    /// rate) are read in place.
    std::function<void()> work(std::size_t step, const OperandTable& operands) const;
    /// Throws the error of the first op that failed, and forgets it.
    void rethrow();

  private:
    struct Failure;
    const BoundModel& model_;
    const TransferPlan& plan_;
    const TransferPlayer& player_;
    std::shared_ptr<Failure> failure_;
};

}  // namespace rematlas
