// The storages and ops of a program so far: everything that an online method knows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dtr/trace.h"

namespace rematlas {

/// The parents of a storage are the storages read by the ops that make its tensors. Its children are the
/// storages of the tensors that are made from its tensors. A storage is not its own parent or child. Until
/// something is forgotten, ids are the same as in a trace. The ids of forgotten items are reused.
class StorageGraph {
  public:
    struct Op : Trace::Op {
        std::vector<int> reads;  ///< storages of the inputs, each once
    };

    /// Adds an op that the program calls, with its outputs. Returns the id of the op. `op.outputs` is
    /// ignored.
    int add(const Trace::Op& op, const std::vector<Trace::Output>& outputs);

    /// Removes the inputs of the op, as if it had made its outputs from nothing.
    void forget_inputs(int op);
    /// Forgets the op and the tensors that it made. No other op may read these tensors.
    void forget_op(int op);
    /// Forgets the storage. `knows_storage` must be false, that is, its makers must have been forgotten.
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
    /// Returns the time of the ops that make the storage's tensors and views; each op counts once.
    std::int64_t cost(int storage) const { return storages_[storage].cost; }
    const std::vector<int>& tensors(int storage) const { return storages_[storage].tensors; }
    /// Returns the ops that read a tensor of the storage, each once.
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
