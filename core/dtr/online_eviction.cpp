#include "core/dtr/online_eviction.h"

#include <algorithm>

namespace rematlas {

OnlineEviction::OnlineEviction(EvictionHost& host, Options options)
    : host_(host),
      options_(options),
      neighbourhood_(graph_, EvictionPool::neighbourhood_of(options.pool.heuristic)),
      pool_(graph_, neighbourhood_, options.pool) {}

// The calls of the program.

int OnlineEviction::declare(const Trace::Op& called, const std::vector<Trace::Output>& outputs) {
    const int id = graph_.add(called, outputs);
    storages_.resize(static_cast<std::size_t>(graph_.storage_count()));
    is_defined_.resize(static_cast<std::size_t>(graph_.tensor_count()), 0);
    ran_.resize(static_cast<std::size_t>(graph_.op_count()), 0);
    settled_.resize(static_cast<std::size_t>(graph_.op_count()), 0);
    const StorageGraph::Op& op = graph_.op(id);
    for (int storage : op.reads) ++storages_[storage].open_readers;
    for (int t : op.outputs) {
        const auto [maker, storage, view] = graph_.tensor(t);
        ++storages_[storage].references;
        if (view) neighbourhood_.grew(storage);
    }
    return id;
}

bool OnlineEviction::begin(const std::vector<int>& tensors) {
    const Frame first = enter(-1, tensors);
    if (!materialize(first)) return false;
    locked_.resize(first.locks);  // the storages stay locked until `end` or `made`
    return true;
}

void OnlineEviction::end(const std::vector<int>& tensors) {
    for (int t : tensors) {
        const int storage = graph_.tensor(t).storage;
        if (!storages_[storage].banished) unlock(storage);
    }
}

void OnlineEviction::made(int id) {
    const StorageGraph::Op& op = graph_.op(id);
    has_run(id, op.outputs.front());
    if (op.writes_over) {
        for (const Trace::InPlace& pair : op.in_place) {
            const int storage = graph_.tensor(pair.input).storage;
            if (storages_[storage].on_device) evict(storage);
        }
    }
    for (int t : op.outputs) pool_.used(graph_.tensor(t).storage, counts_.time);
    if (options_.deallocation == DtrDeallocation::eager) settle_op(id);
}

void OnlineEviction::retain(int tensor) {
    ++storages_[graph_.tensor(tensor).storage].references;
}

void OnlineEviction::release(int tensor) {
    const int storage = graph_.tensor(tensor).storage;
    if (--storages_[storage].references > 0) return;
    if (options_.deallocation == DtrDeallocation::eager) {
        if (storages_[storage].on_device && !storages_[storage].pinned) evict(storage);
        settle_makers(storage);
    } else if (options_.deallocation == DtrDeallocation::banish) {
        try_to_banish(storage);
    }
}

bool OnlineEviction::pin(int tensor) {
    if (!is_defined_[tensor] && !materialize(enter(tensor, graph_.maker(tensor).inputs))) return false;
    const int storage = graph_.tensor(tensor).storage;
    storages_[storage].pinned = true;
    update_pool(storage);
    return true;
}

bool OnlineEviction::freeze(int tensor) {
    if (!pin(tensor)) return false;
    storages_[graph_.tensor(tensor).storage].frozen = true;
    return true;
}

void OnlineEviction::thaw(int tensor) {
    const int storage = graph_.tensor(tensor).storage;
    storages_[storage].pinned = storages_[storage].frozen = false;
    update_pool(storage);
}

bool OnlineEviction::lose(int tensor) {
    return lose_storage(graph_.tensor(tensor).storage);
}

// Storages on the device.

void OnlineEviction::update_pool(int storage) {
    const StorageState& state = storages_[storage];
    if (state.on_device && !state.pinned && state.locks == 0) {
        pool_.insert(storage);
    } else {
        pool_.remove(storage);
    }
}

void OnlineEviction::lock(int storage) {
    ++storages_[storage].locks;
    update_pool(storage);
}

void OnlineEviction::unlock(int storage) {
    --storages_[storage].locks;
    update_pool(storage);
}

void OnlineEviction::drop(int storage) {
    held_ -= graph_.bytes(storage);
    storages_[storage].on_device = false;
    for (int t : graph_.tensors(storage)) is_defined_[t] = 0;
    update_pool(storage);
    host_.drop(storage);
}

void OnlineEviction::evict(int storage) {
    drop(storage);
    neighbourhood_.evicted(storage);
}

bool OnlineEviction::make_room(std::int64_t bytes) {
    while (host_.missing(bytes) > 0) {
        if (pool_.empty()) return false;
        ++counts_.evictions;
        if (!host_.goes_on()) return false;
        evict(pool_.choose(counts_.time));
    }
    return true;
}

OnlineEviction::Stuck OnlineEviction::stuck() const {
    Stuck stuck;
    for (int s = 0; s < graph_.storage_count(); ++s) {
        if (!storages_[s].on_device) continue;
        if (storages_[s].pinned) {
            stuck.pinned += graph_.bytes(s);
        } else if (storages_[s].locks > 0) {
            stuck.locked += graph_.bytes(s);
        }
    }
    return stuck;
}

// Reruns.

/// Makes the missing inputs of `first` again, and locks all its inputs. Inputs that exist are locked first.
/// Then runs the op of the tensor of `first`, if `first` has a tensor. The stack is explicit, because chains
/// of evicted tensors can be as long as the program.
bool OnlineEviction::materialize(Frame first) {
    std::vector<Frame> stack{first};
    while (true) {
        Frame& frame = stack.back();
        if (frame.absent > 0) {
            const int input = absent_.back();
            if (!is_defined_[input]) {
                stack.push_back(enter(input, graph_.maker(input).inputs));
                continue;
            }
            // The input exists now: its own frame made it, or an op that ran for another input made it, too.
            const int storage = graph_.tensor(input).storage;
            lock(storage);
            locked_.push_back(storage);
            absent_.pop_back();
            --frame.absent;
            continue;
        }
        const Frame done = frame;
        if (done.tensor >= 0 && !execute(done)) {
            // The absent inputs of all open frames are the last entries of `absent_`.
            for (const Frame& open : stack)
                absent_.resize(absent_.size() - static_cast<std::size_t>(open.absent));
            give_up(first);
            return false;
        }
        stack.pop_back();
        if (stack.empty()) return true;
    }
}

OnlineEviction::Frame OnlineEviction::enter(int tensor, const std::vector<int>& inputs) {
    const bool forgetful = options_.deallocation == DtrDeallocation::banish;
    Frame frame{tensor, 0, locked_.size()};
    for (std::size_t i = inputs.size(); i-- > 0;) {
        const int storage = graph_.tensor(inputs[i]).storage;
        if (storages_[storage].banished) continue;
        if (!forgetful || storages_[storage].references > 0) pool_.used(storage, counts_.time);
        if (is_defined_[inputs[i]]) {
            lock(storage);
            locked_.push_back(storage);
        } else {
            absent_.push_back(inputs[i]);
            ++frame.absent;
        }
    }
    return frame;
}

void OnlineEviction::give_up(const Frame& first) {
    while (locked_.size() > first.locks) {
        const int storage = locked_.back();
        locked_.pop_back();
        if (!storages_[storage].banished) unlock(storage);
    }
}

/// Runs the op of the frame's tensor and unlocks its inputs, which must exist and be locked.
bool OnlineEviction::execute(const Frame& frame) {
    const int id = graph_.tensor(frame.tensor).op;
    const bool in_place = writes_over(id, [](int) { return 0; });
    const bool has_run_again = host_.run_again(id, in_place);
    const StorageGraph::Op& op = graph_.op(id);
    if (has_run_again) {
        locked_.resize(frame.locks);
        has_run(id, frame.tensor);
    }
    if (in_place) {  // evicts the inputs that were written over, even if the run failed half way
        for (const Trace::InPlace& pair : op.in_place) {
            const int storage = graph_.tensor(pair.input).storage;
            if (storages_[storage].on_device) evict(storage);
        }
    }
    if (!has_run_again) return false;
    if (options_.deallocation == DtrDeallocation::banish) {
        for (int storage : op.reads) try_to_banish(storage);
    }
    ++counts_.reruns;
    counts_.rerun_time += op.time;
    return host_.goes_on();
}

void OnlineEviction::has_run(int id, int first) {
    counts_.time += graph_.op(id).time;
    ran_[id] = 1;
    appear(id, first);
    end(graph_.op(id).inputs);
}

/// Records that the outputs are on the device. `first` is the output that was requested: it becomes evictable
/// last.
void OnlineEviction::appear(int id, int first) {
    const auto appears = [&](int t) {
        const int storage = graph_.tensor(t).storage;
        is_defined_[t] = 1;
        if (storages_[storage].on_device) return;
        if (neighbourhood_.is_evicted(storage)) neighbourhood_.returned(storage);
        storages_[storage].on_device = true;
        storages_[storage].pinned = storages_[storage].pinned || !graph_.op(id).recomputable;
        held_ += graph_.bytes(storage);
        update_pool(storage);
    };
    for (int t : graph_.op(id).outputs) {
        if (t != first) appears(t);
    }
    appears(first);
}

bool OnlineEviction::runs_in_place(int op, const std::function<int(int)>& releases) const {
    return graph_.op(op).writes_over || writes_over(op, releases);
}

/// Says whether the op may write over all inputs that it can write over, because none of them will be read
/// again. `references(storage)` returns how many references to the storage are about to be dropped. If a
/// storage has more references, the op may not write over it.
bool OnlineEviction::writes_over(int id, const std::function<int(int)>& references) const {
    const StorageGraph::Op& op = graph_.op(id);
    if (options_.deallocation != DtrDeallocation::eager || op.in_place.empty()) return false;
    if (std::any_of(op.outputs.begin(), op.outputs.end(), [&](int t) { return is_defined_[t]; }))
        return false;
    return std::all_of(op.in_place.begin(), op.in_place.end(), [&](const Trace::InPlace& pair) {
        const int storage = graph_.tensor(pair.input).storage;
        const StorageState& state = storages_[storage];
        if (state.pinned || state.locks > 1) return false;
        return state.references == references(storage);
    });
}

// A banished storage can never be made again, so everything that was made from it is pinned.

bool OnlineEviction::has_evicted_child(int storage) const {
    for (int op : graph_.readers(storage)) {
        for (int t : graph_.op(op).outputs) {
            const int child = graph_.tensor(t).storage;
            if (child != storage && !storages_[child].banished && !is_defined_[t]) return true;
        }
    }
    return false;
}

void OnlineEviction::try_to_banish(int storage) {
    StorageState& state = storages_[storage];
    if (state.banished || state.references > 0 || has_evicted_child(storage)) return;
    state.banished = true;
    if (state.on_device) {
        drop(storage);
    } else {
        neighbourhood_.returned(storage);
    }
    graph_.for_each_child(storage, [&](int child) {
        if (storages_[child].banished) return;
        storages_[child].pinned = true;
        update_pool(child);
    });
}

}  // namespace rematlas
