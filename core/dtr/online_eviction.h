// Dynamic tensor rematerialization: Kirisame et al., ICLR 2021, as a program goes on that nobody knows
// beforehand. The simulation (`evict_online`) and the system that interposes on a real program share it.
//
//     OnlineEviction eviction(host, {.heuristic = DtrHeuristic::dtr});
//     if (!eviction.begin(op.inputs)) return;          // made again where they were gone, and locked
//     ... the op runs; whatever it takes is asked for by eviction.make_room(bytes) ...
//     eviction.made(eviction.declare(op, outputs));    // its outputs are there
//     eviction.release(tensor);                        // the program drops it
//
// When bytes are short, the evictable storage of the least score is dropped; when an op needs a tensor that
// is gone, its op runs again, recursively. What an op under way reads is locked. An op that runs again takes
// the bytes of all its outputs while it runs, also where an earlier copy is still there. Evicting a storage
// takes its views along: each is made again by its own op.
//
// Beyond the paper: workspaces, ops that run only once (with eager deallocation their outputs are freed when
// no rerun can need them; else they stay), runs in place (with eager deallocation, where nothing else
// needs the input any more), contents that change behind the ops that read them (`lose`), and forgetting
// (`settle`), so that a program can go on for ever.
//
// Cost: the walks of the neighbourhoods, and of the order of log(storages on the device) for each that changes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/dtr/eviction_pool.h"
#include "core/dtr/storage_graph.h"

namespace rematlas {

/// What happens when the last reference to a storage goes (appendix C.3).
enum class DtrDeallocation {
    eager,   ///< it is evicted at once, and may be made again
    ignore,  ///< nothing
    banish,  ///< it is freed for ever once no evicted tensor was made from it; what was made from it can then
             ///< not be evicted. The uses by reruns do not count as uses of a storage without references
};

/// Whose memory it is and who runs the ops.
class EvictionHost {
  public:
    virtual ~EvictionHost() = default;
    /// Runs a known op another time. Its inputs are on the device; room for what it takes has to be made.
    /// With `in_place` it writes over what it can write over. False: it failed, and all that waits for it.
    virtual bool run_again(int op, bool in_place) = 0;
    /// The storage's memory is free for others. Where it was written over, it has none.
    virtual void drop(int storage) = 0;
    /// Bytes that are missing for so many more: not positive where there is room.
    virtual std::int64_t missing(std::int64_t bytes) const = 0;
    /// Asked after each eviction and each run. False: what is under way fails.
    virtual bool goes_on() { return true; }
    /// By `settle`: nobody can need it any more, and its id comes again.
    virtual void forget_op(int /*op*/) {}
    virtual void forget_storage(int /*storage*/) {}
};

class OnlineEviction {
  public:
    struct Options {
        EvictionPool::Options pool;
        DtrDeallocation deallocation = DtrDeallocation::eager;
    };
    struct Counts {
        std::int64_t time = 0;        ///< of all runs: the clock by which storages grow stale
        std::int64_t rerun_time = 0;  ///< of the runs beyond the program's calls
        std::int64_t evictions = 0;   ///< for want of memory; what is deallocated does not count
        std::int64_t reruns = 0;
    };

    OnlineEviction(EvictionHost& host, Options options);

    // The program. Its ids are those of `graph()`. What returns false did not happen: there was no room, or
    // the host failed; no lock is left behind.

    /// The program calls the op. Each output has one reference.
    int declare(const Trace::Op& op, const std::vector<Trace::Output>& outputs);
    /// Has the tensors there and locks them.
    bool begin(const std::vector<int>& tensors);
    /// Unlocks what `begin` locked.
    void end(const std::vector<int>& tensors);
    /// The declared op has run for the first time, between a `begin` of its inputs and now, which unlocks
    /// them. `first` of its outputs becomes evictable last.
    void made(int op);
    /// Whether the declared op, which has not run yet, can write over its inputs, because the program drops
    /// all its references to them right after: so many of `releases(storage)`.
    bool runs_in_place(int op, const std::function<int(int)>& releases) const;
    void retain(int tensor);
    void release(int tensor);
    /// It has to be there, and its storage stays from now on.
    bool pin(int tensor);
    /// It has to be there, and its storage stays until it has no reference and no rerun can need it.
    bool freeze(int tensor);
    /// It may be evicted after all.
    void thaw(int tensor);
    /// The contents of its storage are about to change, or to go: what was made from them and is still
    /// referenced is made again where it is gone, and stays from now on.
    bool lose(int tensor);
    /// Bytes of what `lose` would have to keep that could be evicted until then; none where it would have to
    /// make something again.
    std::optional<std::int64_t> bytes_kept_by_losing(int tensor) const;
    /// Forgets what no rerun can need any more. What is held without a reference, because it cannot be made
    /// again, is let go where that is possible.
    void settle();

    /// Evicts until so many bytes are free.
    bool make_room(std::int64_t bytes);

    bool is_defined(int tensor) const { return is_defined_[tensor]; }
    bool has_references(int storage) const { return storages_[storage].references > 0; }
    bool is_pinned(int storage) const { return storages_[storage].pinned; }
    std::int64_t held() const { return held_; }  ///< bytes of known storages on the device
    /// Bytes on the device that can't be evicted now: pinned, and locked.
    struct Stuck {
        std::int64_t pinned = 0, locked = 0;
    };
    Stuck stuck() const;
    const StorageGraph& graph() const { return graph_; }
    const Counts& counts() const { return counts_; }

  private:
    struct StorageState {
        bool on_device = false;
        bool pinned = false;
        bool frozen = false;  // pinned, until it is settled
        bool banished = false;
        int locks = 0;
        int references = 0;    // of the program, to all its tensors
        int open_readers = 0;  // known ops that read it and might still run (again)
    };
    /// An op under way. `absent` counts what is left to make of the inputs that were not there when it was
    /// asked for; they lie on `absent_`, the next one on top. Its locks begin at `locks` of `locked_`.
    struct Frame {
        int tensor;  ///< that it is run for; -1: the program waits for the inputs
        int absent;
        std::size_t locks;
    };

    void update_pool(int storage);
    void lock(int storage);
    void unlock(int storage);
    void drop(int storage);
    void evict(int storage);
    bool materialize(Frame first);
    Frame enter(int tensor, const std::vector<int>& inputs);
    void give_up(const Frame& first);
    bool execute(const Frame& frame);
    void has_run(int op, int first);
    void appear(int op, int first);
    bool writes_over(int op, const std::function<int(int)>& references) const;
    bool has_evicted_child(int storage) const;
    void try_to_banish(int storage);
    bool is_settled(int storage) const;
    bool can_be_made_again(int storage) const;
    void settle_makers(int storage);
    void free_settled(int storage);
    void settle_op(int op);
    std::vector<int> broken_by(int storage) const;
    bool lose_storage(int storage);
    void forget_settled();

    EvictionHost& host_;
    Options options_;
    StorageGraph graph_;
    EvictedNeighbourhood neighbourhood_;
    EvictionPool pool_;
    std::vector<StorageState> storages_;
    std::vector<std::uint8_t> is_defined_;     // per tensor: made, and its storage not dropped since
    std::vector<std::uint8_t> ran_, settled_;  // per op
    std::vector<int> absent_, locked_;
    Counts counts_;
    std::int64_t held_ = 0;
};

}  // namespace rematlas
