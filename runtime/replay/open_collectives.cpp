#include "runtime/replay/open_collectives.h"

#include <algorithm>
#include <utility>

namespace rematlas {
namespace {

bool contains(const std::vector<TensorId>& tensors, TensorId tensor) {
    return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

}  // namespace

void OpenCollectives::add(OpId op, CollectiveCall call, torch::jit::Stack results) {
    open_.push_back({op, std::move(call), std::move(results)});
}

bool OpenCollectives::makes(const Open& open, TensorId tensor) const {
    return contains(graph_.ops[open.op].outputs, tensor);
}

bool OpenCollectives::reads(const Open& open, TensorId tensor) const {
    return contains(graph_.ops[open.op].inputs, tensor);
}

bool OpenCollectives::must_end_before(const Open& open, const Step& step) const {
    const auto is_made = [&](TensorId tensor) { return makes(open, tensor); };
    const auto is_used = [&](TensorId tensor) { return makes(open, tensor) || reads(open, tensor); };
    if (step.kind == StepKind::offload) return is_made(step.tensor());
    if (!step.runs() && step.kind != StepKind::run_host) return is_used(step.tensor());
    const Op& op = graph_.ops[step.op()];
    const auto any = [](const std::vector<TensorId>& tensors, auto&& holds) {
        return std::any_of(tensors.begin(), tensors.end(), holds);
    };
    if (any(op.outputs, is_used) || any(op.mutates, is_used)) return true;
    // A kernel that can run in place may write to the memory of an input. So such a step must also wait for
    // collectives that read the input.
    return op.inplace.empty() ? any(op.inputs, is_made) : any(op.inputs, is_used);
}

void OpenCollectives::wait_for_uses_of(const Step& step) {
    for (std::size_t i = 0; i < open_.size();) {
        if (!must_end_before(open_[i], step)) {
            ++i;
            continue;
        }
        open_[i].call.wait(open_[i].results, CollectiveCall::Waits::later);
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void OpenCollectives::wait_for_all() {
    for (const Open& open : open_) open.call.wait(open.results, CollectiveCall::Waits::later);
    open_.clear();
}

void OpenCollectives::settle() noexcept {
    for (const Open& open : open_) try {
            open.call.wait(open.results, CollectiveCall::Waits::later);
        } catch (...) {  // ignored: the step has failed already, or the next collective throws
        }
    open_.clear();
}

}  // namespace rematlas
