// The copies of one run of a step: memory on the device that comes and goes, and the queues that move its
// bytes.
//
//     Result<std::unique_ptr<StepTransfers>> transfers = StepTransfers::open(model, plan, links);
//     transfers->begin(operands, inputs, nullptr);
//     transfers->before(step, operands);   // a fetch takes memory, the queues get their orders
//     ... the step itself ...
//     transfers->after(step);
//     transfers->end();
//
// When a resident leaves the device, its memory is taken out of the storage that the caller holds, and when
// it is back, that storage has other memory: whoever holds the tensor finds it complete after the step. For
// a resident that lives on the host, the caller's storage is the resident's place there, and the step works
// on copies. On a GPU the caller's tensor stays one of the device: its storage looks at host memory, which
// kernels read and write over the link.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/copies.h"
#include "runtime/replay/bound_model.h"
#include "runtime/replay/host_op_runner.h"
#include "runtime/transfers/transfer_player.h"

namespace rematlas {

/// Links that all runs of a model share.
struct StepLinks {
    std::shared_ptr<CopyQueues> copies = {};   ///< opened when they are first needed
    TransferPlayer::Forgotten forgotten = {};  ///< told of memory, on both sides, that nobody needs any more:
                                               ///< for tests, on the CPU
};

/// A transfer plan with the homes for which it was made.
struct StepTransferPlan {
    TransferPlan transfers;
    Homes homes;
};

/// Errors: the first tensor that the plan moves although it has to stay, and why; an op that cannot run on
/// the host.
Result<void> check_movable(const BoundModel& model, const StepTransferPlan& plan);

/// Gives memory of the device to residents whose memory is the host's although they do not live there by
/// the plan. The caller's storages stay, with the same contents.
void bring_to_device(const BoundModel& model, const Homes& homes, OperandTable& operands);

class StepTransfers {
  public:
    /// `plan` has passed `check_movable`. Errors: no links, no memory.
    static Result<std::unique_ptr<StepTransfers>> open(const BoundModel& model,
                                                       std::shared_ptr<const StepTransferPlan> plan,
                                                       StepLinks& links);

    /// Puts residents where they are when the step starts. Bound tensors and inputs are placed already.
    /// Errors: inputs and bound tensors that would have to leave the device, but share their memory with
    /// others.
    Result<void> begin(OperandTable& operands, const std::vector<at::Tensor>& inputs, LinkClock* clock);
    void before(std::size_t step, OperandTable& operands);
    void free(TensorId tensor, OperandTable& operands);
    void after(std::size_t step) { player_.leave(step); }
    void pause(std::size_t before) { player_.pause(before); }
    void end() { player_.end(); }
    /// To be called once the step is done: throws the error of an op that ran on the host.
    void rethrow() { host_op_runner_.rethrow(); }
    /// A result that the step leaves on the host. The tensor looks at memory that is valid until the next
    /// step begins; it is undefined if the result is on the device.
    at::Tensor result_on_host(const Operand& operand) const;

    /// Waits until no copy is under way any more, wherever the step was. Then the memory of tensors that
    /// the step made can be given back.
    void settle() { player_.settle(); }
    /// To be called afterwards: makes residents complete again, and lets the operands look at the caller's
    /// storages.
    void restore(OperandTable& operands);

    const StepTransferPlan* plan() const { return plan_.get(); }
    Bytes host_peak() const { return player_.host_peak(); }
    /// Bytes of residents that are not on the device when the step starts.
    std::int64_t bytes_away_at_start() const { return bytes_away_at_start_; }

  private:
    StepTransfers(const BoundModel& model, std::shared_ptr<const StepTransferPlan> plan, StepLinks& links,
                  std::shared_ptr<PinnedSlab> slab);
    bool lives_on_host(TensorId tensor) const { return home_[tensor] >= 0; }
    /// True if the tensor's storage is the caller's: it keeps its identity while its memory comes and goes.
    bool is_callers(TensorId tensor) const { return model_.resident[tensor] && !lives_on_host(tensor); }
    void bring_home(OperandTable& operands);
    void move_home(const std::vector<TensorId>& tensors);
    c10::Storage memory_for(TensorId tensor) const;
    void copy_in(TensorId tensor, const c10::Storage& to);
    void start(std::size_t step, OperandTable& operands);
    void count_host_memory();
    bool leaves(TensorId tensor) const;

    const BoundModel& model_;
    std::shared_ptr<const StepTransferPlan> plan_;
    StepLinks& links_;
    std::shared_ptr<PinnedSlab> slab_;
    IdVector<TensorId, std::uint8_t> in_host_memory_;  ///< in steps of a GPU: tensors never on the device
    IdVector<TensorId, std::int32_t> home_;     ///< place of a resident that lives on the host; else -1
    IdVector<TensorId, c10::Storage> at_home_;  ///< the caller's storages of residents that live on the host
    IdVector<TensorId, std::int32_t> place_;    ///< place of the last copy on the host
    IdVector<TensorId, std::size_t> bytes_;     ///< size of the storage when it was last on the device
    IdVector<TensorId, c10::Storage> counted_;  ///< device memory that stands for tensors in host memory
    IdVector<TensorId, std::uint8_t> moves_, away_;  ///< residents that leave in the step, and have left now
    std::int64_t bytes_away_at_start_ = 0;
    HostOpRunner host_op_runner_;
    TransferPlayer player_;
};

}  // namespace rematlas
