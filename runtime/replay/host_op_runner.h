// Ops of a step that run on the host: the CPU's kernels on what lies there, as tensors of the CPU.
//
//     HostOpRunner runner(model, transfers, player);
//     copies.run(runner.work(step, operands));    // or give it to a TransferPlayer
//     ... when the step is done ...
//     runner.rethrow();
//
// Updates give the bits of the same fused op on the CPU. On a GPU its own kernel may give others: `run --verify`
// compares with an original whose updates ran on the host as well.
#pragma once

#include <functional>
#include <memory>

#include "runtime/replay/bound_model.h"
#include "runtime/transfers/transfer_player.h"

namespace rematlas {

/// Errors: an op that runs there and cannot: it makes tensors, draws random numbers, or is no op of libtorch.
Result<void> check_host_ops(const BoundModel& model, const TransferPlan& plan);

class HostOpRunner {
  public:
    /// `plan` has passed `check_host_ops`. `player` knows where its places lie. All must outlive what is submitted.
    HostOpRunner(const BoundModel& model, const TransferPlan& plan, const TransferPlayer& player);
    /// What the step runs. Numbers that lie in host memory anyway (a learning rate) it reads where they are.
    std::function<void()> work(std::size_t step, const OperandTable& operands) const;
    /// What the first one threw that did, once.
    void rethrow();

  private:
    struct Failure;
    const BoundModel& model_;
    const TransferPlan& plan_;
    const TransferPlayer& player_;
    std::shared_ptr<Failure> failure_;
};

}  // namespace rematlas
