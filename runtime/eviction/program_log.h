// What a program did under online eviction, as a trace that the simulation can repeat, and what eviction did.
#pragma once

#include <string>
#include <vector>

#include "core/dtr/evict_online.h"
#include "core/dtr/trace.h"

namespace rematlas {

/// Ids of the books are translated to the trace's, which are never used twice. A tensor is a storage here.
class ProgramLog {
  public:
    /// `op` and `tensors` are of the books.
    void call(int op, Trace::Op called, const std::vector<Trace::Output>& outputs,
              const std::vector<int>& tensors, std::string name);
    void step(Trace::Step step, int tensor);
    /// The op that is called next begins.
    void begins();
    void reran(int op);
    void dropped(int tensor);
    /// Bytes beyond its outputs that the last op took.
    void workspace(std::int64_t bytes);

    const Trace& trace() const { return trace_; }
    /// The program alone: what was made outside and is never let go takes no bytes, as weights and constants.
    /// Numbers in tensors' clothes, which are made on the way, keep theirs.
    Trace without_outside() const;
    const std::vector<DtrEvent>& events() const { return events_; }
    const std::vector<std::string>& names() const { return names_; }  ///< per op of the trace

  private:
    Trace trace_;
    std::vector<DtrEvent> events_;
    std::vector<std::string> names_;
    std::vector<int> ops_, tensors_;  // of the books: the trace's
};

}  // namespace rematlas
