// A log of the program under online eviction. It contains a trace of the program's ops, which the simulation
// can repeat, and the reruns and evictions by the evictor.
#pragma once

#include <string>
#include <vector>

#include "core/dtr/evict_online.h"
#include "core/dtr/trace.h"

namespace rematlas {

/// Translates the evictor's ids, which may be reused, to ids of the trace, which are unique. A tensor of the
/// trace is a storage.
class ProgramLog {
  public:
    /// `op` and `tensors` are ids of the evictor.
    void call(int op, Trace::Op called, const std::vector<Trace::Output>& outputs,
              const std::vector<int>& tensors, std::string name);
    void step(Trace::Step step, int tensor);
    /// Must be called when the next op begins.
    void begins();
    void reran(int op);
    void dropped(int tensor);
    /// `bytes`: the memory that the last op took in addition to its outputs.
    void workspace(std::int64_t bytes);

    const Trace& trace() const { return trace_; }
    /// Returns a trace without the bytes of weights. In this trace, storages that were made outside the
    /// evictor and are never released, such as weights and constants, take no bytes. Storages from outside
    /// that are released, such as tensors that stand for numbers, keep their bytes.
    Trace without_outside() const;
    const std::vector<DtrEvent>& events() const { return events_; }
    const std::vector<std::string>& names() const { return names_; }  ///< per op of the trace

  private:
    Trace trace_;
    std::vector<DtrEvent> events_;
    std::vector<std::string> names_;
    std::vector<int> ops_, tensors_;  // ids of the trace, by ids of the evictor
};

}  // namespace rematlas
