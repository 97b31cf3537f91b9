// Runs calls on lists of tensors item by item if the whole call would need too much memory at once. If the
// whole call were rerun to restore one item, it would need memory for all its results and for all tensors
// that it reads, at the same time.
#include <algorithm>
#include <utility>

#include "runtime/eviction/evictor.h"
#include "runtime/eviction/list_call.h"

namespace rematlas {

/// Returns the calls for the items, or nullopt if the whole call should be made at once.
std::optional<std::vector<torch::jit::Stack>> Evictor::items_of(const Call& call,
                                                                const torch::jit::Stack& stack) {
    if (!call.facts.by_item || call.runs_once) return std::nullopt;
    const auto made_by = [&](int storage) { return eviction_.graph().tensor(known_[storage].tensor).op; };
    // If different ops have made the storages that the call changes, the call is always split. Otherwise one
    // op would make the new versions of all these storages, and could only make all of them again at once.
    const bool joins = std::any_of(call.changed.begin(), call.changed.end(), [&](int storage) {
        return made_by(storage) != made_by(call.changed.front());
    });
    std::int64_t bytes = 0;
    for (const StoredCall::Place& place : call.places) {
        if (place.storage < 0) continue;
        const Known& known = known_[place.storage];
        if (!eviction_.is_defined(known.tensor)) bytes += known.bytes;
        const bool first_list = place.argument == call.places.front().argument;
        // Each result is as large as the item of the first list from which it is made.
        if (first_list && call.facts.returns > 0) bytes += known.bytes;
    }
    if (!joins && missing(bytes) <= 0) return std::nullopt;
    return calls_of_items(call.op.schema(), stack);
}

void Evictor::call_items(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                         std::vector<torch::jit::Stack> items, torch::jit::Stack* stack) {
    torch::jit::drop(*stack, op.schema().arguments().size());
    c10::List<at::Tensor> results;
    for (torch::jit::Stack& item : items) {
        call(op, keys, &item);
        if (!item.empty()) results.push_back(item.back().toTensorVector().front());
        item.clear();
    }
    if (!op.schema().returns().empty()) stack->emplace_back(std::move(results));
}

}  // namespace rematlas
