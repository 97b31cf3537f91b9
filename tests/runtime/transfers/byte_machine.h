// A machine that really runs schedules: ops compute bytes from bytes, freed memory is reused at once, and
// free memory is overwritten. So a wrong schedule leaves wrong bytes.
#pragma once

#include <map>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "runtime/transfers/transfer_player.h"
#include "tests/runtime/transfers/adversarial_copies.h"

namespace rematlas::test {

using Values = IdVector<TensorId, std::vector<unsigned char>>;

class ByteMachine {
  public:
    /// `watch`: the same object as `copies` if it looks for races; else null.
    ByteMachine(const Graph& graph, const Schedule& schedule, const TransferPlan& plan, CopyQueues& copies,
                AdversarialCopies* watch);

    void run(LinkClock* clock = nullptr);
    std::vector<TransferPause> pauses;  ///< pauses of the plan, in which the caller writes to tensors
    /// Waits for all work. Then compares results and residents with those of a run of the ops in the graph's
    /// order. Compares all copies of a tensor, on the device and on the host. Returns an empty text, or the
    /// name of a tensor that differs.
    std::string difference(int repetitions);

    const TransferPlayer& player() const { return player_; }
    std::size_t device_peak() const { return peak_; }

  private:
    void begin();
    void look();
    void hand_out(const TransferPause& pause);
    void step(std::size_t at, LinkClock* clock);
    void run_op(OpId id, bool in_place);
    std::function<void()> work_on_host(std::size_t at);
    void callers_homes();
    void allocate(TensorId t);
    void release(TensorId t);
    void release_at(TensorId t, std::ptrdiff_t place);
    void overwrite(void* data, std::size_t bytes);
    void overwrite_what_is_free();
    void reads(TensorId t);
    void writes(TensorId t, const std::vector<unsigned char>& value);
    std::vector<unsigned char> value_of(TensorId t) const;
    std::size_t bytes_of(TensorId t) const { return static_cast<std::size_t>(graph_.tensors[t].bytes.value); }

    const Graph& graph_;
    const Homes& homes_;
    const TransferPlan& plan_;
    AdversarialCopies* watch_;
    IdVector<TensorId, OpId> producer_;
    /// Memory of the device, and memory of the host. The latter has first the slab for copies, then the
    /// tensors whose home is the host.
    std::vector<unsigned char> device_, slab_;
    std::map<std::size_t, std::size_t> taken_;  ///< bytes in use on the device, by their address
    IdVector<TensorId, std::ptrdiff_t> at_;     ///< address on the device; -1 if the tensor is not there
    IdVector<OpId, std::uint8_t> ran_;
    IdVector<TensorId, std::uint8_t> changed_there_;  ///< whether an op of the host has changed the tensor
    std::size_t held_ = 0, peak_ = 0;
    TransferPlayer player_;
};

}  // namespace rematlas::test
