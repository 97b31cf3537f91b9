#include "runtime/device/collective_call.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <unordered_map>

#include "runtime/allocator/counting_allocator.h"
#include "runtime/dispatch/collectives.h"
#include "runtime/dispatch/stack_tensors.h"

namespace rematlas {
namespace {

/// Says whether the results are tensors that the collective makes.
bool is_new(const c10::OperatorHandle& op) {
    const auto& returns = op.schema().returns();
    return std::none_of(returns.begin(), returns.end(),
                        [](const c10::Argument& result) { return result.alias_info() != nullptr; });
}

/// Returns the number of references to the tensor, without the `own` references of the caller and without the
/// reference of the tensor's Python object.
std::size_t uses_beside(const c10::TensorImpl& tensor, std::size_t uses, std::size_t own) {
    return uses - own - (tensor.pyobj_slot()->load_pyobj() != nullptr ? 1 : 0);
}

}  // namespace

CollectiveCall::Held CollectiveCall::held(const at::Tensor& tensor, std::size_t uses) {
    return {c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>(tensor.getIntrusivePtr()),
            c10::weak_intrusive_ptr<c10::StorageImpl>(tensor.storage().getWeakStorageImpl()), uses,
            tensor.storage().use_count()};
}

CollectiveCall::CollectiveCall(const c10::OperatorHandle& op, const torch::jit::Stack& stack)
    : op_(op), alive_before_(CountingAllocator::alive()) {
    std::unordered_map<const c10::TensorImpl*, std::size_t> places;
    for_each_tensor_of(
        stack, op.schema().arguments().size(), [&](std::size_t, int, const at::Tensor& tensor) {
            if (!tensor.defined() || !tensor.device().is_cpu() || !tensor.has_storage()) return;
            const auto [place, is_new] = places.try_emplace(tensor.unsafeGetTensorImpl(), given_.size());
            const std::size_t uses = uses_beside(*tensor.unsafeGetTensorImpl(), tensor.use_count(), 0);
            if (is_new) given_.push_back(held(tensor, uses));
            --given_[place->second].uses;  // the stack's reference ends when the op pops the argument
        });
}

void CollectiveCall::wait(const torch::jit::Stack& stack, Waits waits) const {
    static const auto wait =
        c10::Dispatcher::singleton().findSchemaOrThrow("_c10d_functional::wait_tensor", "");
    std::vector<Held> all = given_;
    std::int64_t made = 0;
    for (std::size_t i = stack.size() - op_.schema().returns().size(); i < stack.size(); ++i) {
        if (stack[i].isCustomClass()) {
            stack[i].toCustomClass<c10d::Work>()->wait();
            continue;
        }
        for_each_tensor(stack[i], [&](const at::Tensor& tensor) {
            // The returned `Work` waits for these tensors.
            if (writes_to_first_argument(op_.schema().name())) return;
            torch::jit::Stack waited{tensor};
            wait.callBoxed(waited);
            if (!is_new(op_) || !tensor.device().is_cpu()) return;
            all.push_back(held(tensor, 1));
            all.back().uses_of_memory = 1;
            made += static_cast<std::int64_t>(tensor.storage().nbytes());
        });
    }
    // Gloo's thread holds tensors for a moment after the wait has returned, and their memory would be
    // counted. So this function also waits, at most 100 ms, until the collective's tensors have only the
    // references that exist outside of the call. With `Waits::at_once`, the references to their memory and
    // the bytes of host memory must be back, too. With `Waits::later`, other ops may have changed both.
    const bool at_once = waits == Waits::at_once;
    const auto is_held = [&] {
        return (at_once && CountingAllocator::alive() > alive_before_ + made) ||
               std::any_of(all.begin(), all.end(), [&](const Held& held) {
                   if (at_once && held.memory.use_count() > held.uses_of_memory) return true;
                   const auto tensor = held.tensor.lock();
                   return tensor && uses_beside(*tensor, tensor.use_count(), 1) > held.uses;
               });
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (!all.empty() && is_held() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

bool is_true_on_all(bool here, const std::string& group, c10::Device device) {
    static const auto reduce =
        c10::Dispatcher::singleton().findSchemaOrThrow("_c10d_functional::all_reduce", "");
    torch::jit::Stack stack{at::full({1}, here ? 1 : 0, at::TensorOptions().dtype(at::kInt).device(device)),
                            std::string("min"), group};
    const CollectiveCall call(reduce, stack);
    reduce.callBoxed(stack);
    call.wait(stack);
    return stack.back().toTensor().item<int>() != 0;
}

}  // namespace rematlas
