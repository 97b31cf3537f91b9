// Ops of a step that run on the host: kernels of the CPU work on the bytes in host memory, as tensors of
// the CPU.
//
//     HostOpRunner runner(model, transfers, player);
//     copies.run(runner.work(step, operands));    // or give it to a TransferPlayer
//     ... when the step is done ...
//     runner.rethrow();
//
// Updates give the same bits as the same fused op on the CPU. A GPU's own kernel may give others, so `run
// --verify` compares with an original whose updates ran on the host as well.
#pragma once

#include <functional>
#include <memory>

#include "runtime/replay/bound_model.h"
#include "runtime/transfers/transfer_player.h"

namespace rematlas {

/// Errors: an op that the plan runs on the host and that cannot run there, because it makes tensors, draws
/// random numbers, is the caller's loss, or waits for a number of the device.
Result<void> check_host_ops(const BoundModel& model, const TransferPlan& plan);

class HostOpRunner {
  public:
    /// `plan` has passed `check_host_ops`. `player` knows the addresses of the plan's places. All three
    /// must outlive the submitted work.
    HostOpRunner(const BoundModel& model, const TransferPlan& plan, const TransferPlayer& player);
    /// The work of the step. Numbers that are in host memory anyway (a learning rate) are read where they
    /// are.
    std::function<void()> work(std::size_t step, const OperandTable& operands) const;
    /// Throws the error of the first op that has failed, once.
    void rethrow();

  private:
    struct Failure;
    const BoundModel& model_;
    const TransferPlan& plan_;
    const TransferPlayer& player_;
    std::shared_ptr<Failure> failure_;
};

}  // namespace rematlas
