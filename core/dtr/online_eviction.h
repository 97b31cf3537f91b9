// Dynamic tensor rematerialization (Kirisame et al., ICLR 2021) of a running program whose future nobody
// knows. The simulation (`evict_online`) and the system that interposes on a real program share it.
//
//     OnlineEviction eviction(host, {.pool = {.heuristic = DtrHeuristic::dtr}});
//     if (!eviction.begin(op.inputs)) return false;    // made again where they were gone, and locked
//     eviction.make_room(bytes);                       // for what the op takes; then it runs
//     eviction.made(eviction.declare(op, outputs));    // its outputs are there
//     eviction.release(tensor);                        // the program drops it
//
// When bytes are short, the evictable storage of the least score is dropped; when an op needs a tensor that
// is gone, its op runs again, recursively. The tensors that a running op reads are locked. An op that runs
// again takes the bytes of all its outputs while it runs, also where an earlier copy is still there.
// Evicting a storage takes its views along: each is made again by its own op.
//
// Beyond the paper: workspaces, ops that run only once (with eager deallocation their outputs are freed when
// no rerun can need them; else they stay), runs in place (with eager deallocation, where nothing else
// needs the input any more), contents that change behind the ops that read them (`lose`), and forgetting
// (`settle`), so that a program can go on for ever.
//
// Cost: the walks of the neighbourhoods, and about log(storages on the device) for each storage that
// changes.
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
    banish,  ///< it is freed for ever once no evicted tensor was made from it; the storages made from it can
             ///< then not be evicted. Reruns do not count as uses of a storage without references
};

/// Owns the memory and runs the ops.
class EvictionHost {
  public:
    virtual ~EvictionHost() = default;
    /// Runs a known op another time. The inputs are on the device; the host makes room for the bytes that
    /// the run takes. With `in_place` the op writes over all inputs that it can write over. Returns false if
    /// the run failed; then all that waits for it fails.
    virtual bool run_again(int op, bool in_place) = 0;
    /// The storage's memory is free for others. A storage that was written over has no memory left.
    virtual void drop(int storage) = 0;
    /// The bytes that are missing until `bytes` more fit; not positive if there is room.
    virtual std::int64_t missing(std::int64_t bytes) const = 0;
    /// Asked at each eviction and after each run. If it returns false, the call under way fails.
    virtual bool goes_on() { return true; }
    /// Called by `settle`: nobody can need the op or the storage any more, and its id comes again.
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

    // The calls of the program. Ids are those of `graph()`. A call that returns false has failed, because
    // there was no room or the host failed; it leaves no lock behind.

    /// The program calls the op. Each output has one reference.
    int declare(const Trace::Op& op, const std::vector<Trace::Output>& outputs);
    /// Makes the tensors again where they are gone, and locks them.
    bool begin(const std::vector<int>& tensors);
    /// Unlocks what `begin` locked.
    void end(const std::vector<int>& tensors);
    /// The declared op has run for the first time, after a `begin` of its inputs; this unlocks the inputs.
    /// The first of the op's outputs becomes evictable last.
    void made(int op);
    /// Whether the declared op, which has not run yet, can write over its inputs, because the program drops
    /// all its references to them right after the run. `releases(storage)` says how many references it
    /// drops.
    bool runs_in_place(int op, const std::function<int(int)>& releases) const;
    void retain(int tensor);
    void release(int tensor);
    /// Makes the tensor again if it is gone; its storage stays from now on.
    bool pin(int tensor);
    /// The same, but the storage stays only until it has no reference and no rerun can need it.
    bool freeze(int tensor);
    /// The storage of the tensor may be evicted after all.
    void thaw(int tensor);
    /// The contents of the tensor's storage are about to change, or to go. Tensors that were made from these
    /// contents and are still referenced are made again if they are gone, and frozen.
    bool lose(int tensor);
    /// The bytes that could be evicted now and that `lose` would have to keep; nothing if `lose` would have
    /// to make a tensor again.
    std::optional<std::int64_t> bytes_kept_by_losing(int tensor) const;
    /// Forgets the ops and storages that no rerun can need any more. Storages that are held without a
    /// reference, because they cannot be made again, are let go where that is possible.
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
    /// An op whose run is under way. `absent` counts the inputs that are still to be made, of those that
    /// were not there when the run was asked for. They lie on `absent_`, the next one on top. The locks of
    /// the run begin at `locks` of `locked_`.
    struct Frame {
        int tensor;  ///< the tensor that it runs for; -1: the program waits for the inputs
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
