// The copies of one run of a training step: the device memory that is allocated and freed for them, and the
// queues that copy the bytes.
//
//     std::unique_ptr<StepTransfers> transfers = StepTransfers::open(model, plan, links).take();
//     transfers->begin(operands, inputs, nullptr);
//     transfers->before(step, operands);   // allocates memory for a fetch, orders copies from the queues
//     ... the step itself ...
//     transfers->after(step);
//     transfers->end();
//
// When a resident leaves the device, its memory is taken out of the storage that the caller holds. When the
// resident returns, the storage gets other memory, so the caller's tensor is complete after the step. If the
// home of a resident is on the host, the caller's storage refers to host memory, and the step works on
// copies. On a GPU such a tensor of the caller still counts as a tensor of the device: kernels read and
// write the host memory over the link.
#pragma once

#include <memory>

#include "runtime/device/copies.h"
#include "runtime/replay/bound_model.h"
#include "runtime/replay/host_op_runner.h"
#include "runtime/transfers/transfer_player.h"

namespace rematlas {

/// The links, which all runs of a model share.
struct StepLinks {
    std::shared_ptr<CopyQueues> copies = {};   ///< opened when they are first needed
    TransferPlayer::Forgotten forgotten = {};  ///< called with each block of host or device memory that is no
                                               ///< longer needed; only tests on the CPU set it
};

/// A plan of the copies, with the homes for which it was made.
struct StepTransferPlan {
    TransferPlan transfers;
    Homes homes;
};

/// Fails if the plan moves a tensor that has to stay, or runs an op on the host that cannot run there. The
/// error names the first such tensor or op, and says why.
Result<void> check_movable(const BoundModel& model, const StepTransferPlan& plan);

/// Moves to the device all residents that are in host memory although their home in `homes` is not the host.
/// The caller's storages stay the same objects with the same contents.
void bring_to_device(const BoundModel& model, const Homes& homes, OperandTable& operands);

class StepTransfers {
  public:
    /// `plan` must have passed `check_movable`. Fails if there are no links, or not enough memory.
    static Result<std::unique_ptr<StepTransfers>> open(const BoundModel& model,
                                                       std::shared_ptr<const StepTransferPlan> plan,
                                                       StepLinks& links);

    /// Puts the residents where the plan needs them when the step starts. Bound tensors and inputs must have
    /// been placed. Fails if an input or bound tensor would have to leave the device, but its memory is part
    /// of larger memory or belongs to others.
    Result<void> begin(OperandTable& operands, const std::vector<at::Tensor>& inputs, LinkClock* clock);
    void before(std::size_t step, OperandTable& operands);
    void free(TensorId tensor, OperandTable& operands);
    void after(std::size_t step) { player_.leave(step); }
    void pause(std::size_t before) { player_.pause(before); }
    void end() { player_.end(); }
    /// Throws the error of an op that ran on the host. Must be called when the training step is done.
    void rethrow() { host_op_runner_.rethrow(); }
    /// Returns a result that the step leaves on the host; undefined if the result is on the device. The
    /// tensor refers to memory that is valid until the next step begins.
    at::Tensor result_on_host(const Operand& operand) const;

    /// Waits until no copy is running any more, wherever the step has stopped. Afterwards the memory of
    /// tensors that the step made can be freed.
    void settle() { player_.settle(); }
    /// Copies residents that have left the device back into the caller's storages. Makes the operands of
    /// residents whose home is on the host refer to the caller's storages again. Must be called after
    /// `settle`.
    void restore(OperandTable& operands);

    const StepTransferPlan* plan() const { return plan_.get(); }
    Bytes host_peak() const { return player_.host_peak(); }
    /// Returns the bytes of residents that are not on the device when the step starts.
    std::int64_t bytes_away_at_start() const { return bytes_away_at_start_; }

  private:
    StepTransfers(const BoundModel& model, std::shared_ptr<const StepTransferPlan> plan, StepLinks& links,
                  std::shared_ptr<PinnedSlab> slab);
    bool lives_on_host(TensorId tensor) const { return home_[tensor] >= 0; }
    /// Says whether the tensor's storage is the caller's. Such a storage stays the same object when its
    /// memory is exchanged.
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
    IdVector<TensorId, std::uint8_t> in_host_memory_;  ///< in steps of a GPU: tensors that are always in host
                                                       ///< memory
    IdVector<TensorId, std::int32_t> home_;     ///< index of the place that is a resident's home on the host;
                                                ///< -1 if the tensor has no home there
    IdVector<TensorId, c10::Storage> at_home_;  ///< the caller's storages of residents whose home is on the
                                                ///< host
    IdVector<TensorId, std::int32_t> place_;    ///< index of the place on the host that holds the latest copy
    IdVector<TensorId, std::size_t> bytes_;     ///< size of the storage when it was last on the device
    IdVector<TensorId, c10::Storage> counted_;  ///< device memory that is allocated on behalf of tensors in
                                                ///< host memory
    /// For residents: whether the tensor leaves the device in the step, and whether it has left the device
    /// now.
    IdVector<TensorId, std::uint8_t> moves_, away_;
    std::int64_t bytes_away_at_start_ = 0;
    HostOpRunner host_op_runner_;
    TransferPlayer player_;
};

}  // namespace rematlas
