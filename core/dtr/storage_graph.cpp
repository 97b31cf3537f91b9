#include "core/dtr/storage_graph.h"

#include <algorithm>

namespace rematlas {

/// Returns an unused id for an item. A forgotten item keeps the memory of its lists: programs repeat
/// themselves, so the next item with this id needs about as much.
template <class Item>
int StorageGraph::place(std::vector<Item>& items, std::vector<int>& free) {
    if (free.empty()) {
        items.emplace_back();
        return static_cast<int>(items.size()) - 1;
    }
    const int id = free.back();
    free.pop_back();
    return id;
}

int StorageGraph::add(const Trace::Op& called, const std::vector<Trace::Output>& outputs) {
    const int id = place(ops_, free_ops_);
    Op& op = ops_[id];
    op.time = called.time, op.workspace = called.workspace;
    op.recomputable = called.recomputable, op.writes_over = called.writes_over;
    op.inputs.assign(called.inputs.begin(), called.inputs.end());
    op.in_place.assign(called.in_place.begin(), called.in_place.end());
    for (int t : op.inputs) op.reads.push_back(tensors_[t].storage);
    std::sort(op.reads.begin(), op.reads.end());
    op.reads.erase(std::unique(op.reads.begin(), op.reads.end()), op.reads.end());
    for (int storage : op.reads) storages_[storage].readers.push_back(id);
    for (const Trace::Output& output : outputs) {
        const bool view = output.view_of >= 0;
        const int storage =
            view ? tensors_[op.inputs[output.view_of]].storage : place(storages_, free_storages_);
        const int tensor = place(tensors_, free_tensors_);
        tensors_[tensor] = {id, storage, view};
        op.outputs.push_back(tensor);
        Storage& of = storages_[storage];
        if (!view) of.bytes = output.bytes;
        of.tensors.push_back(tensor);
        if (!of.makers.empty() && of.makers.back() == id) continue;
        of.makers.push_back(id);
        of.cost += op.time;
    }
    return id;
}

void StorageGraph::forget_inputs(int id) {
    Op& op = ops_[id];
    for (int storage : op.reads) std::erase(storages_[storage].readers, id);
    op.reads.clear();
    op.inputs.clear();
    op.in_place.clear();
}

void StorageGraph::forget_op(int id) {
    forget_inputs(id);
    Op& op = ops_[id];
    for (int tensor : op.outputs) {
        Storage& of = storages_[tensors_[tensor].storage];
        std::erase(of.tensors, tensor);
        if (std::erase(of.makers, id) > 0) of.cost -= op.time;
        free_tensors_.push_back(tensor);
    }
    op.outputs.clear();
    free_ops_.push_back(id);
}

void StorageGraph::forget_storage(int id) {
    Storage& storage = storages_[id];
    storage.bytes = storage.cost = 0;
    storage.tensors.clear(), storage.makers.clear(), storage.readers.clear();
    free_storages_.push_back(id);
}

}  // namespace rematlas
