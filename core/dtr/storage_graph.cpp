#include "core/dtr/storage_graph.h"

#include <algorithm>

namespace rematlas {

StorageGraph::StorageGraph(const Trace& trace)
    : trace_(trace),
      cost_(trace.bytes.size(), 0),
      tensors_(trace.bytes.size()),
      makers_(trace.bytes.size()),
      readers_(trace.bytes.size()),
      inputs_(trace.ops.size()) {}

void StorageGraph::add(int op) {
    std::vector<int>& inputs = inputs_[op];
    for (int t : trace_.ops[op].inputs) inputs.push_back(trace_.tensors[t].storage);
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    for (int storage : inputs) readers_[storage].push_back(op);
    for (int t : trace_.ops[op].outputs) {
        const int storage = trace_.tensors[t].storage;
        tensors_[storage].push_back(t);
        if (!makers_[storage].empty() && makers_[storage].back() == op) continue;
        makers_[storage].push_back(op);
        cost_[storage] += trace_.ops[op].time;
    }
}

}  // namespace rematlas
