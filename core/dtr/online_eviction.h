// Dynamic tensor rematerialization: Kirisame et al., ICLR 2021, simulated on a trace as published.
//
//     const DtrOutcome outcome = evict_online(trace, Bytes(2 << 30), {.heuristic = DtrHeuristic::dtr});
//     if (outcome.status == DtrOutcome::Status::ok) use(outcome.overhead());
//
// The program's calls are run one after the other, its future unseen. When bytes are short for the outputs of
// an op (beside all that is on the device), the evictable storage of the least score is dropped; when an op
// needs a tensor that is gone, its op runs again, recursively. What an op under way reads is locked. An op
// that runs again takes the bytes of all its outputs while it runs, also where an earlier copy is still
// there. Evicting a storage takes its views along: each is made again by its own op. At a pin, thus also for
// what the program still holds at its end, the tensor must be there.
//
// Beyond the paper: workspaces, ops that run only once (with eager deallocation their outputs are freed when
// no rerun can need them; else they stay) and runs in place (with eager deallocation, where nothing else
// needs the input any more).
//
// Cost: (evictions) x (storages on the device) comparisons and the walks of the neighbourhoods.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/ids.h"
#include "core/dtr/eviction_pool.h"
#include "core/dtr/trace.h"

namespace rematlas {

/// What happens when the last reference to a storage goes (appendix C.3).
enum class DtrDeallocation {
    eager,   ///< it is evicted at once, and may be made again
    ignore,  ///< nothing
    banish,  ///< it is freed for ever once no evicted tensor was made from it; what was made from it can then
             ///< not be evicted. The uses by reruns do not count as uses of a storage without references
};

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
    std::int64_t evictions = 0;           ///< for want of memory; what is deallocated does not count
    std::int64_t rematerializations = 0;  ///< runs beyond the program's calls
    std::vector<int> runs;                ///< ops in the order in which they ran

    double overhead() const {
        return base_time > 0 ? static_cast<double>(time) / static_cast<double>(base_time) : 1;
    }
};

/// `go_on` is asked now and then with the share of the program that is done; returning false stops.
DtrOutcome evict_online(const Trace& trace, Bytes budget, const DtrOptions& options = {},
                        const std::function<bool(const DtrOutcome&, double done)>& go_on = {});

/// The peak when there is memory for everything and what is not needed any more is freed for ever (banished):
/// the published experiments take their budgets as shares of it.
Bytes unbounded_peak(const Trace& trace);

}  // namespace rematlas
