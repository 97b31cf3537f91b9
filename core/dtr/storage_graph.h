// Storages and the ops between them, as far as the program has got: what an online method knows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dtr/trace.h"

namespace rematlas {

/// Parents of a storage are the storages that the makers of its tensors read, children those of the tensors
/// made from its tensors; a storage is neither to itself.
class StorageGraph {
  public:
    explicit StorageGraph(const Trace& trace);

    /// The program calls the op: its outputs are known from now on. Once for each op.
    void add(int op);

    int storage_count() const { return static_cast<int>(cost_.size()); }
    /// Time of the ops that make the storage's tensors, views included, each once.
    std::int64_t cost(int storage) const { return cost_[storage]; }
    const std::vector<int>& tensors(int storage) const { return tensors_[storage]; }
    /// Ops that read a tensor of the storage, each once.
    const std::vector<int>& readers(int storage) const { return readers_[storage]; }
    /// Storages that the op reads, each once.
    const std::vector<int>& inputs(int op) const { return inputs_[op]; }

    template <class Visit>
    void for_each_parent(int storage, Visit&& visit) const {
        for (int op : makers_[storage]) {
            for (int parent : inputs_[op]) {
                if (parent != storage) visit(parent);
            }
        }
    }
    template <class Visit>
    void for_each_child(int storage, Visit&& visit) const {
        for (int op : readers_[storage]) {
            for (int t : trace_.ops[op].outputs) {
                if (trace_.tensors[t].storage != storage) visit(trace_.tensors[t].storage);
            }
        }
    }

  private:
    const Trace& trace_;
    std::vector<std::int64_t> cost_;                            // per storage
    std::vector<std::vector<int>> tensors_, makers_, readers_;  // per storage
    std::vector<std::vector<int>> inputs_;                      // per op
};

}  // namespace rematlas
