// Storages and the ops between them, as far as the program has got: what an online method knows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dtr/trace.h"

namespace rematlas {

/// Parents of a storage are the storages that the makers of its tensors read, children those of the tensors
/// made from its tensors; a storage is neither to itself. Ids are those of a trace while nothing is
/// forgotten; the ids of forgotten items are given out again.
class StorageGraph {
  public:
    struct Op : Trace::Op {
        std::vector<int> reads;  ///< storages of the inputs, each once
    };

    /// The program calls the op: returns its id, and its outputs are known from now on. `op.outputs` is not
    /// looked at.
    int add(const Trace::Op& op, const std::vector<Trace::Output>& outputs);

    /// From now on it is as if the op had made its outputs from nothing.
    void forget_inputs(int op);
    /// Forgets the op with the tensors that it made. No other op may read these tensors.
    void forget_op(int op);
    /// The makers and readers of the storage must be forgotten before, so that `knows_storage` is false.
    void forget_storage(int storage);

    const Op& op(int id) const { return ops_[id]; }
    Op& op(int id) { return ops_[id]; }
    const Trace::Tensor& tensor(int id) const { return tensors_[id]; }
    const Op& maker(int tensor) const { return ops_[tensors_[tensor].op]; }

    int op_count() const { return static_cast<int>(ops_.size()); }
    int tensor_count() const { return static_cast<int>(tensors_.size()); }
    int storage_count() const { return static_cast<int>(storages_.size()); }
    bool knows_op(int id) const { return !ops_[id].outputs.empty(); }
    bool knows_storage(int id) const { return !storages_[id].tensors.empty(); }

    std::int64_t bytes(int storage) const { return storages_[storage].bytes; }
    /// Time of the ops that make the storage's tensors, views included, each once.
    std::int64_t cost(int storage) const { return storages_[storage].cost; }
    const std::vector<int>& tensors(int storage) const { return storages_[storage].tensors; }
    /// Ops that read a tensor of the storage, each once.
    const std::vector<int>& readers(int storage) const { return storages_[storage].readers; }

    template <class Visit>
    void for_each_parent(int storage, Visit&& visit) const {
        for (int op : storages_[storage].makers) {
            for (int parent : ops_[op].reads) {
                if (parent != storage) visit(parent);
            }
        }
    }
    template <class Visit>
    void for_each_child(int storage, Visit&& visit) const {
        for (int op : storages_[storage].readers) {
            for (int t : ops_[op].outputs) {
                if (tensors_[t].storage != storage) visit(tensors_[t].storage);
            }
        }
    }

  private:
    struct Storage {
        std::int64_t bytes = 0, cost = 0;
        std::vector<int> tensors, makers, readers;
    };

    template <class Item>
    static int place(std::vector<Item>& items, std::vector<int>& free);

    std::vector<Op> ops_;
    std::vector<Trace::Tensor> tensors_;
    std::vector<Storage> storages_;
    std::vector<int> free_ops_, free_tensors_, free_storages_;
};

}  // namespace rematlas
