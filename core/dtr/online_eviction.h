// Dynamic tensor rematerialization (Kirisame et al., ICLR 2021) of a running program whose future is unknown.
// `evict_online` uses it to simulate a program, and runtime/eviction to run a real one.
//
//     OnlineEviction eviction(host, {.pool = {.heuristic = DtrHeuristic::dtr}});
//     if (!eviction.begin(op.inputs)) return false;    // makes missing inputs again; locks all inputs
//     eviction.make_room(bytes);                       // frees the bytes that the op takes; then run the op
//     eviction.made(eviction.declare(op, outputs));    // the outputs are on the device
//     eviction.release(tensor);                        // the program drops the tensor
//
// When bytes are short, the evictable storage with the least score is dropped. When an op needs a tensor that
// is gone, the op that made the tensor runs again; the inputs of that op are made again in the same way. The
// tensors that a running op reads are locked. An op that runs again takes the bytes of all its outputs while
// it runs, even if an earlier copy of an output still exists. Evicting a storage also drops its views: each
// view is made again by its own op.
//
// Beyond the paper, this class supports workspaces, ops that run only once, runs in place, contents that
// change after ops have read them (`lose`), and forgetting (`settle`), so that a program can run for ever.
// With eager deallocation, the outputs of an op that runs only once are freed when no rerun can need them;
// with the other kinds of deallocation they stay. Ops run in place only with eager deallocation, and only if
// nothing else needs the input any more.
//
// Cost: the walks through neighbourhoods, plus about log(storages on the device) for each storage that
// changes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/dtr/eviction_pool.h"
#include "core/dtr/storage_graph.h"

namespace rematlas {

/// Decides what happens when the last reference to a storage is dropped (appendix C.3).
enum class DtrDeallocation {
    eager,   ///< the storage is evicted at once, and can be made again
    ignore,  ///< nothing happens
    /// The storage is freed for good as soon as no tensor made from it is evicted; the storages made from it
    /// can then not be evicted any more. Reruns do not count as uses of a storage without references.
    banish,
};

/// Owns the memory and runs the ops.
class EvictionHost {
  public:
    virtual ~EvictionHost() = default;
    /// Runs a declared op again. The inputs are on the device; the host must make room for the bytes that the
    /// run takes. With `in_place` the op writes over all inputs that it can write over. Returns false if the
    /// run failed; then every op that waits for its outputs fails, too.
    virtual bool run_again(int op, bool in_place) = 0;
    /// Called when the storage no longer needs its memory. If an op has written over the storage, its memory
    /// already belongs to an output of that op.
    virtual void drop(int storage) = 0;
    /// Returns how many bytes must be freed before `bytes` more bytes fit; 0 or less if they fit now.
    virtual std::int64_t missing(std::int64_t bytes) const = 0;
    /// Called before each eviction that makes room, and after each rerun. If it returns false, the current
    /// call of OnlineEviction fails.
    virtual bool goes_on() { return true; }
    /// Called by `settle` when nothing can need the op or the storage any more. Their ids may be used again.
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
        std::int64_t time = 0;        ///< time of all runs; this clock decides how stale storages are
        std::int64_t rerun_time = 0;  ///< time of the runs beyond the program's calls
        std::int64_t evictions = 0;   ///< evictions to make room; deallocations do not count
        std::int64_t reruns = 0;
    };

    OnlineEviction(EvictionHost& host, Options options);

    // The calls of the program. Ids are those of `graph()`. A call returns false if bytes are missing or if
    // the host fails. A failed call leaves no locks behind.

    /// Declares an op that the program calls. Returns its id. Each output has one reference.
    int declare(const Trace::Op& op, const std::vector<Trace::Output>& outputs);
    /// Makes tensors again if they are gone, and locks all of `tensors`.
    bool begin(const std::vector<int>& tensors);
    /// Unlocks the tensors that `begin` locked.
    void end(const std::vector<int>& tensors);
    /// Must be called when the declared op has run for the first time, after a `begin` of its inputs. Unlocks
    /// the inputs. The op's first output becomes evictable after its other outputs.
    void made(int op);
    /// Says whether the declared op, which has not run yet, can write over its inputs because the program
    /// drops all its references to them right after the run. `releases(storage)` must return how many
    /// references the program drops.
    bool runs_in_place(int op, const std::function<int(int)>& releases) const;
    void retain(int tensor);
    void release(int tensor);
    /// Makes the tensor again if it is gone. From now on its storage is not evicted.
    bool pin(int tensor);
    /// Like `pin`, but only until the storage has no reference and no rerun can need it.
    bool freeze(int tensor);
    /// Undoes `pin` and `freeze`: the storage of the tensor may be evicted again.
    void thaw(int tensor);
    /// Must be called before the contents of the tensor's storage change or disappear. Tensors that were made
    /// from these contents and still have references are frozen. If they are gone, they are made again first.
    bool lose(int tensor);
    /// Returns how many of the bytes that can be evicted now would be frozen by `lose(tensor)`. Returns
    /// `std::nullopt` if `lose` would have to make a tensor again.
    std::optional<std::int64_t> bytes_kept_by_losing(int tensor) const;
    /// Forgets the ops and storages that no rerun can need any more. Storages without references that are
    /// held only because they cannot be made again are freed if possible.
    void settle();

    /// Evicts storages until `bytes` bytes are free. Returns false if that fails.
    bool make_room(std::int64_t bytes);

    bool is_defined(int tensor) const { return is_defined_[tensor]; }
    bool has_references(int storage) const { return storages_[storage].references > 0; }
    bool is_pinned(int storage) const { return storages_[storage].pinned; }
    std::int64_t held() const { return held_; }  ///< bytes of the storages on the device
    /// Bytes on the device that cannot be evicted now, because they are pinned or locked.
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
        bool frozen = false;  // pinned until no rerun can need the storage
        bool banished = false;
        int locks = 0;
        int references = 0;    // number of the program's references to tensors of this storage
        int open_readers = 0;  // number of ops that read the storage and can still run or run again
    };
    /// An op that is about to run. `absent` counts the inputs that must still be made. They are on the stack
    /// `absent_`, with the next one on top. The locks for this run begin at index `locks` of `locked_`.
    struct Frame {
        int tensor;  ///< tensor for which the op runs; -1: the program waits for the inputs
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
    // Per tensor: whether it was made, and its storage was not dropped since then.
    std::vector<std::uint8_t> is_defined_;
    std::vector<std::uint8_t> ran_, settled_;  // per op
    std::vector<int> absent_, locked_;
    Counts counts_;
    std::int64_t held_ = 0;
};

}  // namespace rematlas
