// A log of the program under online eviction, as a trace that the simulation can repeat, and of what
// eviction did.
#pragma once

#include <string>
#include <vector>

#include "core/dtr/evict_online.h"
#include "core/dtr/trace.h"

namespace rematlas {

/// Translates ids of the books to ids of the trace, which are never used twice. A tensor is a storage here.
class ProgramLog {
  public:
    /// `op` and `tensors` are ids of the books.
    void call(int op, Trace::Op called, const std::vector<Trace::Output>& outputs,
              const std::vector<int>& tensors, std::string name);
    void step(Trace::Step step, int tensor);
    /// Tells that the op that is called next begins.
    void begins();
    void reran(int op);
    void dropped(int tensor);
    /// `bytes`: those that the last op took beyond its outputs.
    void workspace(std::int64_t bytes);

    const Trace& trace() const { return trace_; }
    /// The trace of the program alone. Storages that were made outside and are never released, such as
    /// weights and constants, take no bytes in it. Numbers as tensors, which come from outside during the
    /// program, keep their bytes.
    Trace without_outside() const;
    const std::vector<DtrEvent>& events() const { return events_; }
    const std::vector<std::string>& names() const { return names_; }  ///< per op of the trace

  private:
    Trace trace_;
    std::vector<DtrEvent> events_;
    std::vector<std::string> names_;
    std::vector<int> ops_, tensors_;  // indexed by ids of the books: ids of the trace
};

}  // namespace rematlas
