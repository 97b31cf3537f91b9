// Simulates dynamic tensor rematerialization on a trace, as published (Kirisame et al., ICLR 2021).
//
//     const DtrOutcome outcome = evict_online(trace, Bytes(2LL << 30), {.heuristic = DtrHeuristic::dtr});
//     if (outcome.status == DtrOutcome::Status::ok) use(outcome.overhead());
//
// The program's calls run one after another, and the method does not know later calls (see OnlineEviction).
// From a `pin` on, the tensor must stay on the device. At its end, a trace must pin the tensors that the
// program still holds.
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
    /// Limit on the time of all runs, as a multiple of the time of all calls, each once. Beyond the limit the
    /// simulation gives up.
    double thrash = 20;
    bool sample = false, ignore_small = false;  ///< as in EvictionPool::Options
    std::uint64_t seed = 1;                     ///< seed of the random heuristic and of the samples
};

struct DtrOutcome {
    enum class Status {
        ok,
        oom,      ///< nothing was left that could be evicted
        thrash,   ///< the time passed the limit `DtrOptions::thrash`
        stopped,  ///< `go_on` returned false
    };
    Status status = Status::ok;
    std::int64_t time = 0;       ///< time of all runs, until the end or until eviction gave up
    std::int64_t base_time = 0;  ///< time of all calls, each once
    Bytes peak;
    std::int64_t evictions = 0;           ///< evictions to make room; deallocations do not count
    std::int64_t rematerializations = 0;  ///< number of runs beyond the program's calls
    std::vector<int> runs;                ///< ops in the order of their runs

    double overhead() const {
        return base_time > 0 ? static_cast<double>(time) / static_cast<double>(base_time) : 1;
    }
};

/// One event of the simulation. Lists of events allow comparing simulations.
struct DtrEvent {
    enum class Kind { call, rerun, drop } kind = Kind::call;
    int id = 0;  ///< id in the trace: the op, or the storage that is dropped (evicted or deallocated)

    bool operator==(const DtrEvent&) const = default;
};

/// Simulates the trace within the budget. `go_on` is called from time to time with the share of the program
/// that is done; if it returns false, the simulation stops. Fills `events` unless it is null.
DtrOutcome evict_online(const Trace& trace, Bytes budget, const DtrOptions& options = {},
                        const std::function<bool(const DtrOutcome&, double done)>& go_on = {},
                        std::vector<DtrEvent>* events = nullptr);

/// Returns the peak with unlimited memory if storages that are no longer needed are freed for good
/// (banished). The published experiments define their budgets as shares of this peak.
Bytes unbounded_peak(const Trace& trace);

}  // namespace rematlas
