#include "core/dtr/online_eviction.h"

#include <algorithm>
#include <limits>

namespace rematlas {
namespace {

class OnlineEviction {
  public:
    OnlineEviction(const Trace& trace, Bytes budget, const DtrOptions& options,
                   const std::function<bool(const DtrOutcome&, double)>& go_on)
        : trace_(trace),
          budget_(budget.value),
          options_(options),
          go_on_(go_on),
          graph_(trace),
          neighbourhood_(graph_, EvictionPool::neighbourhood_of(options.heuristic)),
          pool_(trace, graph_, neighbourhood_,
                {options.heuristic, options.sample, options.ignore_small, options.seed}),
          storages_(trace.bytes.size()),
          defined_(trace.tensors.size(), false),
          ran_(trace.ops.size(), false),
          settled_(trace.ops.size(), false),
          rerun_limit_(std::min(0x1p61, (options.thrash - 1) * static_cast<double>(trace.total_time))) {
        outcome_.base_time = trace.total_time;
    }

    DtrOutcome run() {
        while (next_ < trace_.program.size() && outcome_.status == DtrOutcome::Status::ok) {
            const auto [step, id] = trace_.program[next_++];
            switch (step) {
                case Trace::Step::call:
                    call(id);
                    break;
                case Trace::Step::retain:
                    ++storages_[trace_.tensors[id].storage].references;
                    break;
                case Trace::Step::release:
                    release(trace_.tensors[id].storage);
                    break;
                case Trace::Step::pin:
                    if (!defined_[id]) materialize(id);
                    if (outcome_.status == DtrOutcome::Status::ok) pin(trace_.tensors[id].storage);
                    break;
            }
        }
        return std::move(outcome_);
    }

  private:
    struct StorageState {
        bool on_device = false;
        bool pinned = false;
        bool banished = false;
        int locks = 0;
        int references = 0;    // of the program, to all its tensors
        int open_readers = 0;  // known ops that read it and might still run (again)
    };
    const Trace::Op& maker(int tensor) const { return trace_.ops[trace_.tensors[tensor].op]; }

    // The program's instructions.

    void call(int op) {
        graph_.add(op);
        for (int storage : graph_.inputs(op)) ++storages_[storage].open_readers;
        for (int t : trace_.ops[op].outputs) {
            ++storages_[trace_.tensors[t].storage].references;
            if (trace_.tensors[t].view) neighbourhood_.grew(trace_.tensors[t].storage);
        }
        materialize(trace_.ops[op].outputs.front());
        if (outcome_.status != DtrOutcome::Status::ok) return;
        for (int t : trace_.ops[op].outputs) pool_.used(trace_.tensors[t].storage, outcome_.time);
        if (options_.deallocation == DtrDeallocation::eager) settle(op);
    }

    void release(int storage) {
        if (--storages_[storage].references > 0) return;
        if (options_.deallocation == DtrDeallocation::eager) {
            if (storages_[storage].on_device && !storages_[storage].pinned) evict(storage);
            settle_makers(storage);
        } else if (options_.deallocation == DtrDeallocation::banish) {
            try_to_banish(storage);
        }
    }

    void pin(int storage) {
        storages_[storage].pinned = true;
        update_pool(storage);
    }

    // What is on the device.

    void update_pool(int storage) {
        const StorageState& state = storages_[storage];
        if (state.on_device && !state.pinned && state.locks == 0) {
            pool_.insert(storage);
        } else {
            pool_.remove(storage);
        }
    }

    void lock(int storage) {
        ++storages_[storage].locks;
        update_pool(storage);
    }

    void unlock(int storage) {
        --storages_[storage].locks;
        update_pool(storage);
    }

    void drop(int storage) {
        held_ -= trace_.bytes[storage];
        storages_[storage].on_device = false;
        for (int t : graph_.tensors(storage)) defined_[t] = false;
        update_pool(storage);
    }

    void evict(int storage) {
        drop(storage);
        neighbourhood_.evicted(storage);
    }

    bool make_room(std::int64_t bytes) {
        while (held_ + bytes > budget_) {
            if (pool_.empty()) {
                outcome_.status = DtrOutcome::Status::oom;
            } else if (++outcome_.evictions % 16 == 0) {
                ask_to_go_on();
            }
            if (outcome_.status != DtrOutcome::Status::ok) return false;
            evict(pool_.choose(outcome_.time));
        }
        return true;
    }

    void ask_to_go_on() {
        const double done = static_cast<double>(next_) / static_cast<double>(trace_.program.size());
        if (go_on_ && !go_on_(outcome_, done)) outcome_.status = DtrOutcome::Status::stopped;
    }

    // Running.

    /// An op under way. `absent` counts what is left to make of the inputs that were not there when it was
    /// asked for; they lie on `absent_`, the next one on top.
    struct Frame {
        int tensor;
        int absent;
    };

    /// Makes `target` by its op, after the absent inputs, and theirs. An explicit stack: chains of evicted
    /// tensors can be as long as the trace. Of the inputs, those that are there are locked first.
    void materialize(int target) {
        std::vector<Frame> stack{enter(target)};
        while (true) {
            Frame& frame = stack.back();
            if (frame.absent > 0) {
                const int input = absent_.back();
                if (!defined_[input]) {
                    stack.push_back(enter(input));
                    continue;
                }
                // Made by now, by its own frame or beside a sibling.
                lock(trace_.tensors[input].storage);
                absent_.pop_back();
                --frame.absent;
                continue;
            }
            const int tensor = frame.tensor;
            stack.pop_back();
            if (!execute(tensor) || stack.empty()) return;
        }
    }

    Frame enter(int tensor) {
        const auto& inputs = maker(tensor).inputs;
        const bool forgetful = options_.deallocation == DtrDeallocation::banish;
        Frame frame{tensor, 0};
        for (std::size_t i = inputs.size(); i-- > 0;) {
            const int storage = trace_.tensors[inputs[i]].storage;
            if (storages_[storage].banished) continue;
            if (!forgetful || storages_[storage].references > 0) pool_.used(storage, outcome_.time);
            if (defined_[inputs[i]]) {
                lock(storage);
            } else {
                absent_.push_back(inputs[i]);
                ++frame.absent;
            }
        }
        return frame;
    }

    /// Runs the op of `tensor`, whose inputs are there and locked, and unlocks them.
    bool execute(int tensor) {
        const int id = trace_.tensors[tensor].op;
        const Trace::Op& op = trace_.ops[id];
        const bool again = ran_[id];
        std::int64_t fresh = op.workspace;
        for (int t : op.outputs) {
            if (!trace_.tensors[t].view) fresh += trace_.bytes[trace_.tensors[t].storage];
        }
        const bool in_place = runs_in_place(id);
        if (in_place) {
            for (const Trace::InPlace& pair : op.in_place) fresh -= pair.bytes;
        }
        if (!make_room(fresh)) return false;
        outcome_.peak = std::max(outcome_.peak, Bytes(held_ + fresh));
        outcome_.time += op.time;
        outcome_.runs.push_back(id);
        ran_[id] = true;
        appear(op, tensor);
        for (int t : op.inputs) {
            if (!storages_[trace_.tensors[t].storage].banished) unlock(trace_.tensors[t].storage);
        }
        if (in_place && again) {
            for (const Trace::InPlace& pair : op.in_place) {
                const int storage = trace_.tensors[pair.input].storage;
                if (storages_[storage].on_device) evict(storage);
            }
        }
        if (options_.deallocation == DtrDeallocation::banish) {
            for (int storage : graph_.inputs(id)) try_to_banish(storage);
        }
        if (again) {
            ++outcome_.rematerializations;
            rerun_time_ += static_cast<double>(op.time);
        }
        if (rerun_time_ > rerun_limit_) outcome_.status = DtrOutcome::Status::thrash;
        if (outcome_.status == DtrOutcome::Status::ok && outcome_.runs.size() % 64 == 0) ask_to_go_on();
        return outcome_.status == DtrOutcome::Status::ok;
    }

    /// The outputs are on the device. `first` is the one that was asked for: it becomes evictable last.
    void appear(const Trace::Op& op, int first) {
        const auto appears = [&](int t) {
            const int storage = trace_.tensors[t].storage;
            defined_[t] = true;
            if (storages_[storage].on_device) return;
            if (neighbourhood_.is_evicted(storage)) neighbourhood_.returned(storage);
            storages_[storage].on_device = true;
            storages_[storage].pinned = storages_[storage].pinned || !op.recomputable;
            held_ += trace_.bytes[storage];
            update_pool(storage);
        };
        for (int t : op.outputs) {
            if (t != first) appears(t);
        }
        appears(first);
    }

    /// Whether all that the op can write over will not be read again: it is released right after the call
    /// that is under way, or it is only held by chance.
    bool runs_in_place(int id) const {
        const Trace::Op& op = trace_.ops[id];
        if (options_.deallocation != DtrDeallocation::eager || op.in_place.empty()) return false;
        const auto there = [&](int t) { return defined_[t]; };
        if (std::any_of(op.outputs.begin(), op.outputs.end(), there)) return false;
        return std::all_of(op.in_place.begin(), op.in_place.end(), [&](const Trace::InPlace& pair) {
            const int storage = trace_.tensors[pair.input].storage;
            const StorageState& state = storages_[storage];
            if (state.pinned || state.locks > 1) return false;
            return state.references == (ran_[id] ? 0 : releases_ahead(storage));
        });
    }

    int releases_ahead(int storage) const {
        int releases = 0;
        for (std::size_t i = next_; i < trace_.program.size(); ++i) {
            const auto [step, tensor] = trace_.program[i];
            if (step != Trace::Step::release) break;
            releases += trace_.tensors[tensor].storage == storage;
        }
        return releases;
    }

    // Banishing.

    bool has_evicted_child(int storage) const {
        for (int op : graph_.readers(storage)) {
            for (int t : trace_.ops[op].outputs) {
                const int child = trace_.tensors[t].storage;
                if (child != storage && !storages_[child].banished && !defined_[t]) return true;
            }
        }
        return false;
    }

    void try_to_banish(int storage) {
        StorageState& state = storages_[storage];
        if (state.banished || state.references > 0 || has_evicted_child(storage)) return;
        state.banished = true;
        if (state.on_device) {
            drop(storage);
        } else {
            neighbourhood_.returned(storage);
        }
        graph_.for_each_child(storage, [&](int child) {
            if (!storages_[child].banished) pin(child);
        });
    }

    // Ops that run once. An op is settled when it cannot run again: it may not, or no rerun can need its
    // outputs. A pinned storage without references whose readers are all settled is freed; without this the
    // outputs of ops that run once would stay to the end.

    bool is_settled(int storage) const {
        return storages_[storage].references == 0 && storages_[storage].open_readers == 0;
    }

    void settle_makers(int storage) {
        if (!is_settled(storage)) return;
        free_settled(storage);
        for (int t : graph_.tensors(storage)) settle(trace_.tensors[t].op);
    }

    void free_settled(int storage) {
        if (storages_[storage].pinned && storages_[storage].on_device && !maker_of(storage).recomputable)
            drop(storage);
    }

    const Trace::Op& maker_of(int storage) const { return maker(graph_.tensors(storage).front()); }

    void settle(int first) {
        std::vector<int> walk;
        const auto consider = [&](int op) {
            const auto& outputs = trace_.ops[op].outputs;
            const bool idle = std::all_of(outputs.begin(), outputs.end(),
                                          [&](int t) { return is_settled(trace_.tensors[t].storage); });
            if (settled_[op] || !ran_[op] || (trace_.ops[op].recomputable && !idle)) return;
            settled_[op] = true;
            walk.push_back(op);
        };
        consider(first);
        while (!walk.empty()) {
            const int op = walk.back();
            walk.pop_back();
            for (int storage : graph_.inputs(op)) {
                --storages_[storage].open_readers;
                if (!is_settled(storage)) continue;
                free_settled(storage);
                for (int t : graph_.tensors(storage)) consider(trace_.tensors[t].op);
            }
        }
    }

    const Trace& trace_;
    std::int64_t budget_;
    DtrOptions options_;
    const std::function<bool(const DtrOutcome&, double)>& go_on_;
    StorageGraph graph_;
    EvictedNeighbourhood neighbourhood_;
    EvictionPool pool_;
    std::vector<StorageState> storages_;
    std::vector<bool> defined_;        // per tensor: made, and its storage not dropped since
    std::vector<bool> ran_, settled_;  // per op
    std::vector<int> absent_;
    DtrOutcome outcome_;
    std::size_t next_ = 0;  // instruction of the program
    std::int64_t held_ = 0;
    double rerun_time_ = 0, rerun_limit_;
};

}  // namespace

DtrOutcome evict_online(const Trace& trace, Bytes budget, const DtrOptions& options,
                        const std::function<bool(const DtrOutcome&, double)>& go_on) {
    return OnlineEviction(trace, budget, options, go_on).run();
}

Bytes unbounded_peak(const Trace& trace) {
    const Bytes all(std::numeric_limits<std::int64_t>::max() / 2);
    return evict_online(trace, all, {.heuristic = DtrHeuristic::lru, .deallocation = DtrDeallocation::banish})
        .peak;
}

}  // namespace rematlas
