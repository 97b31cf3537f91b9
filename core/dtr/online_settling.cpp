// The part of OnlineEviction about ops that no rerun can need, contents that disappear, and forgetting after
// a step.
#include <algorithm>
#include <numeric>

#include "core/dtr/online_eviction.h"

namespace rematlas {

// Ops that run once. An op is settled when it will not run again, because it must not or because no rerun can
// need its outputs. A pinned storage without references is freed when all its readers are settled. Without
// this rule, the outputs of ops that run once would stay until the end.

bool OnlineEviction::is_settled(int storage) const {
    return storages_[storage].references == 0 && storages_[storage].open_readers == 0;
}

bool OnlineEviction::can_be_made_again(int storage) const {
    return !storages_[storage].frozen && graph_.maker(graph_.tensors(storage).front()).recomputable;
}

void OnlineEviction::settle_makers(int storage) {
    if (!is_settled(storage)) return;
    free_settled(storage);
    for (int t : graph_.tensors(storage)) settle_op(graph_.tensor(t).op);
}

void OnlineEviction::free_settled(int storage) {
    if (storages_[storage].pinned && storages_[storage].on_device && !can_be_made_again(storage))
        drop(storage);
}

void OnlineEviction::settle_op(int first) {
    std::vector<int> walk;
    const auto consider = [&](int id) {
        const StorageGraph::Op& op = graph_.op(id);
        const bool idle = std::all_of(op.outputs.begin(), op.outputs.end(),
                                      [&](int t) { return is_settled(graph_.tensor(t).storage); });
        if (settled_[id] || !ran_[id] || (op.recomputable && !idle)) return;
        settled_[id] = 1;
        walk.push_back(id);
    };
    consider(first);
    while (!walk.empty()) {
        const int id = walk.back();
        walk.pop_back();
        for (int storage : graph_.op(id).reads) {
            --storages_[storage].open_readers;
            if (!is_settled(storage)) continue;
            free_settled(storage);
            for (int t : graph_.tensors(storage)) consider(graph_.tensor(t).op);
        }
    }
}

// Contents of storages that are about to change or to disappear.

/// Returns the ops that cannot run again without the current contents of the storage. These are its readers,
/// the readers of the storages that these ops make and that nothing keeps (no reference and no pin), and so
/// on.
std::vector<int> OnlineEviction::broken_by(int storage) const {
    std::vector<int> broken;
    std::vector<std::uint8_t> seen(ran_.size(), 0);
    const auto add_readers = [&](int of) {
        for (int op : graph_.readers(of)) {
            if (seen[op] || settled_[op] || !ran_[op]) continue;
            seen[op] = 1;
            broken.push_back(op);
        }
    };
    add_readers(storage);
    for (std::size_t next = 0; next < broken.size(); ++next) {
        for (int t : graph_.op(broken[next]).outputs) {
            const int made = graph_.tensor(t).storage;
            if (made != storage && storages_[made].references == 0 && !storages_[made].pinned)
                add_readers(made);
        }
    }
    return broken;
}

std::optional<std::int64_t> OnlineEviction::bytes_kept_by_losing(int tensor) const {
    const int storage = graph_.tensor(tensor).storage;
    std::vector<int> kept;
    for (int op : broken_by(storage)) {
        for (int t : graph_.op(op).outputs) {
            const int made = graph_.tensor(t).storage;
            if (made == storage || storages_[made].references == 0 || storages_[made].pinned) continue;
            if (!is_defined_[t]) return std::nullopt;
            kept.push_back(made);
        }
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    return std::accumulate(kept.begin(), kept.end(), std::int64_t{0},
                           [&](std::int64_t sum, int made) { return sum + graph_.bytes(made); });
}

bool OnlineEviction::lose_storage(int storage) {
    const std::vector<int> broken = broken_by(storage);
    for (int op : broken) {
        for (int t : graph_.op(op).outputs) {
            const int made = graph_.tensor(t).storage;
            if (made != storage && storages_[made].references > 0 && !freeze(t)) return false;
        }
    }
    for (int op : broken) graph_.op(op).recomputable = false;
    for (int op : broken) {
        for (int t : graph_.op(op).outputs) {
            const int made = graph_.tensor(t).storage;
            if (made == storage || storages_[made].references > 0 || storages_[made].pinned) continue;
            if (storages_[made].on_device) {
                drop(made);
            } else if (neighbourhood_.is_evicted(made)) {
                neighbourhood_.returned(made);
            }
        }
        settle_op(op);
    }
    return true;
}

// Forgetting ops and storages.

void OnlineEviction::settle() {
    for (int s = 0; s < graph_.storage_count(); ++s) {
        const StorageState& state = storages_[s];
        if (state.pinned && state.on_device && state.references == 0 && !can_be_made_again(s))
            lose_storage(s);
    }
    for (int op = 0; op < graph_.op_count(); ++op) {
        if (graph_.knows_op(op)) settle_op(op);
    }
    forget_settled();
    neighbourhood_.settle();
    pool_.settle();
}

void OnlineEviction::forget_settled() {
    std::vector<int> gone;
    for (int s = 0; s < graph_.storage_count(); ++s) {
        if (!graph_.knows_storage(s) || !is_settled(s)) continue;
        const bool stays_for_good = storages_[s].pinned && !storages_[s].banished && can_be_made_again(s);
        if (stays_for_good) continue;
        if (storages_[s].on_device) drop(s);
        gone.push_back(s);
    }
    for (int op = 0; op < graph_.op_count(); ++op) {
        if (!graph_.knows_op(op) || !settled_[op]) continue;
        const auto& outputs = graph_.op(op).outputs;
        const bool all_gone = std::all_of(outputs.begin(), outputs.end(), [&](int t) {
            return std::binary_search(gone.begin(), gone.end(), graph_.tensor(t).storage);
        });
        if (!all_gone) {
            graph_.forget_inputs(op);
            continue;
        }
        host_.forget_op(op);
        for (int t : outputs) is_defined_[t] = 0;
        graph_.forget_op(op);
        ran_[op] = settled_[op] = 0;
    }
    for (int s : gone) {
        if (graph_.knows_storage(s)) continue;  // a maker of s has another output, which is needed
        host_.forget_storage(s);
        graph_.forget_storage(s);
        storages_[s] = {};
        pool_.forget(s);
    }
}

}  // namespace rematlas
