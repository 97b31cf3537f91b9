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
// A resident that leaves the device takes its memory out of the storage that the caller holds, and gets other
// memory there when it is back: who holds the tensor finds it whole after the step. Of residents that live on
// the host the caller's storage is their place there, and the step works on copies. On a GPU the caller's tensor
// stays one of the device: its storage looks at host memory, which kernels read and write over the link.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/copies.h"
#include "runtime/replay/bound_model.h"
#include "runtime/replay/host_op_runner.h"
#include "runtime/transfers/transfer_player.h"

namespace rematlas {

/// What all runs of a model share.
struct StepLinks {
    std::shared_ptr<CopyQueues> copies = {};   ///< opened when they are first needed
    TransferPlayer::Forgotten forgotten = {};  ///< told of memory, on both sides, that nobody needs any more:
                                               ///< for tests, on the CPU
};

/// A transfer plan with what it was made for.
struct StepTransferPlan {
    TransferPlan transfers;
    Homes homes;
};

/// Errors: the first tensor that the plan moves and that has to stay, and why; an op that cannot run on the host.
Result<void> check_movable(const BoundModel& model, const StepTransferPlan& plan);

/// Residents whose memory is the host's without living there by the plan get memory of the device: the caller's
/// storages of them, with the same contents.
void bring_to_device(const BoundModel& model, const Homes& homes, OperandTable& operands);

class StepTransfers {
  public:
    /// `plan` has passed `check_movable`. Errors: no links, no memory.
    static Result<std::unique_ptr<StepTransfers>> open(const BoundModel& model,
                                                       std::shared_ptr<const StepTransferPlan> plan,
                                                       StepLinks& links);

    /// Puts residents where they are when the step starts. Bound tensors and inputs are placed. Errors: inputs
    /// and bound tensors in memory that is not theirs alone, and that would have to leave the device.
    Result<void> begin(OperandTable& operands, const std::vector<at::Tensor>& inputs, LinkClock* clock);
    void before(std::size_t step, OperandTable& operands);
    void free(TensorId tensor, OperandTable& operands);
    void after(std::size_t step) { player_.leave(step); }
    void pause(std::size_t before) { player_.pause(before); }
    void end() { player_.end(); }
    /// Once the step is done: throws what an op threw that ran on the host.
    void rethrow() { host_op_runner_.rethrow(); }
    /// A result that the step leaves on the host, which looks at memory that holds until the next step begins; not
    /// defined where it is on the device.
    at::Tensor result_on_host(const Operand& operand) const;

    /// Nothing is under way any more, wherever the step was; memory of what it made can be given back.
    void settle() { player_.settle(); }
    /// Afterwards: residents are whole again, and looked at where the caller has them.
    void restore(OperandTable& operands);

    const StepTransferPlan* plan() const { return plan_.get(); }
    Bytes host_peak() const { return player_.host_peak(); }
    /// Of residents, what is not on the device when the step starts.
    std::int64_t bytes_away_at_start() const { return bytes_away_at_start_; }

  private:
    StepTransfers(const BoundModel& model, std::shared_ptr<const StepTransferPlan> plan, StepLinks& links,
                  std::shared_ptr<PinnedSlab> slab);
    bool lives_on_host(TensorId tensor) const { return home_[tensor] >= 0; }
    /// Its storage is the caller's, and keeps its identity while its memory comes and goes.
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
    IdVector<TensorId, std::uint8_t> in_host_memory_;  ///< of the steps of a GPU: never on the device
    IdVector<TensorId, std::int32_t> home_;     ///< its place, of residents that live on the host; else -1
    IdVector<TensorId, c10::Storage> at_home_;  ///< the caller's storages of these
    IdVector<TensorId, std::int32_t> place_;    ///< of the last copy on the host
    IdVector<TensorId, std::size_t> bytes_;     ///< of storages, when they were last on the device
    IdVector<TensorId, c10::Storage> counted_;  ///< what stands on the device for tensors in host memory
    IdVector<TensorId, std::uint8_t> moves_, away_;  ///< residents that leave in the step, and have left now
    std::int64_t bytes_away_at_start_ = 0;
    HostOpRunner host_op_runner_;
    TransferPlayer player_;
};

}  // namespace rematlas
