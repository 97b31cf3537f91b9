// The collectives that a schedule has started, by the tensors that they make and read.
#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/side_queues.h"

namespace rematlas {

class CollectivesUnderWay {
  public:
    explicit CollectivesUnderWay(const Graph& graph)
        : graph_(graph),
          queues_(queues_of(graph)),
          maker_(graph.tensors.size(), -1),
          readers_(queues_.names.empty() ? 0 : graph.tensors.size()) {}

    std::size_t queue_count() const { return queues_.names.size(); }
    /// Returns the number of the op's queue; -1 if the op runs on the device's compute.
    int queue_of(OpId op) const { return queues_.of[op]; }

    /// Adds a run of the op at the end of the op's queue; the op must have one. Returns the number of the run
    /// in `clock`.
    int start(OpId id, SideQueues& clock) {
        const Op& op = graph_.ops[id];
        const int work = clock.add({.queue = SideQueue::collective,
                                    .alone = op.time.value,
                                    .label = id.value,
                                    .group = queues_.of[id]});
        for (TensorId t : op.outputs) maker_[t] = work;
        for (TensorId t : op.inputs) readers_[t].push_back(work);
        return last_ = work;
    }

    int maker(TensorId t) const { return maker_[t]; }

    /// Waits for all collectives that make or read the tensor. Must be called before the tensor's bytes are
    /// written or freed.
    void wait_for_uses(TensorId t, SideQueues& clock) {
        if (last_ < 0) return;
        clock.wait_for(maker_[t]);
        for (const int work : readers_[t]) clock.wait_for(work);
        readers_[t].clear();
    }

  private:
    const Graph& graph_;
    Queues queues_;
    IdVector<TensorId, int> maker_;                 ///< the latest collective that makes the tensor; -1: none
    IdVector<TensorId, std::vector<int>> readers_;  ///< collectives that read the tensor and may be under way
    int last_ = -1;                                 ///< the collective that was started last
};

}  // namespace rematlas
