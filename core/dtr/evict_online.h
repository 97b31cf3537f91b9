// Dynamic tensor rematerialization simulated on a trace, as published (Kirisame et al., ICLR 2021).
//
//     const DtrOutcome outcome = evict_online(trace, Bytes(2 << 30), {.heuristic = DtrHeuristic::dtr});
//     if (outcome.status == DtrOutcome::Status::ok) use(outcome.overhead());
//
// The calls of the program run one after the other, and its future is unseen; see OnlineEviction. At a pin
// the tensor must be there. A trace pins the tensors that the program still holds at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/ids.h"
#include "core/dtr/online_eviction.h"
#include "core/dtr/trace.h"

namespace rematlas {

struct DtrOptions {
    DtrHeuristic heuristic = DtrHeuristic::dtr_eq;
    DtrDeallocation deallocation = DtrDeallocation::eager;
    double thrash = 20;  ///< gives up when the time passes this many times the time without recomputation
    bool sample = false, ignore_small = false;  ///< see EvictionPool
    std::uint64_t seed = 1;                     ///< of the random heuristic and the samples
};

struct DtrOutcome {
    enum class Status {
        ok,
        oom,      ///< nothing was left to evict
        thrash,   ///< too much time
        stopped,  ///< `go_on` said so
    };
    Status status = Status::ok;
    std::int64_t time = 0;       ///< of all runs, up to the end or where it gave up
    std::int64_t base_time = 0;  ///< of all calls once
    Bytes peak;
    std::int64_t evictions = 0;           ///< for want of memory; deallocations do not count
    std::int64_t rematerializations = 0;  ///< runs beyond the program's calls
    std::vector<int> runs;                ///< ops in the order in which they ran

    double overhead() const {
        return base_time > 0 ? static_cast<double>(time) / static_cast<double>(base_time) : 1;
    }
};

/// One event of the simulation, so that simulations can be compared.
struct DtrEvent {
    enum class Kind { call, rerun, drop } kind = Kind::call;
    int id = 0;  ///< of the trace: op, or storage that is dropped, deallocations included

    bool operator==(const DtrEvent&) const = default;
};

/// `go_on` is asked now and then with the share of the program that is done; returning false stops. Fills
/// `events`, if there is one.
DtrOutcome evict_online(const Trace& trace, Bytes budget, const DtrOptions& options = {},
                        const std::function<bool(const DtrOutcome&, double done)>& go_on = {},
                        std::vector<DtrEvent>* events = nullptr);

/// The peak if there is memory for everything, and storages that are not needed any more are freed for ever
/// (banished). The published experiments take their budgets as shares of this peak.
Bytes unbounded_peak(const Trace& trace);

}  // namespace rematlas
