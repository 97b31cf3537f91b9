#include "tests/runtime/graph_capturing_device.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <cstring>

#include "runtime/capture/op_traits.h"
#include "runtime/replay/compare.h"

namespace rematlas::test {
namespace {

/// Returns a tensor that keeps referring to the storage to which `tensor` refers now.
at::Tensor fixed(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    return at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(0, true));
}

c10::IValue fixed(const c10::IValue& value) {
    if (value.isTensor()) return fixed(value.toTensor());
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(fixed(tensor));
        return list;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const c10::IValue& item : value.toListRef())
            list.push_back(item.isTensor() ? std::optional(fixed(item.toTensor())) : std::nullopt);
        return list;
    }
    return value;
}

template <class Visit>
void for_each_tensor(const torch::jit::Stack& stack, Visit&& visit) {
    for (const c10::IValue& value : stack) {
        if (value.isTensor()) visit(value.toTensor());
        if (!value.isTensorList()) continue;
        for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
    }
}

void overwrite(const c10::Storage& to, const c10::Storage& from) {
    std::memcpy(const_cast<void*>(to.data()), from.data(), to.nbytes());
}

}  // namespace

class GraphCapturingDevice::Graphs final : public DeviceGraphs, public DispatchMode {
  public:
    explicit Graphs(GraphCapturingDevice& device) : device_(device) {}

    void begin_part() { parts_.emplace_back(); }
    void add(std::function<void()> entry) { parts_.back().push_back(std::move(entry)); }
    void place(std::int64_t draws) { draws_ = draws; }

    void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) override {
        torch::jit::Stack arguments;
        const std::size_t count = op.schema().arguments().size();
        for (std::size_t i = stack->size() - count; i < stack->size(); ++i)
            arguments.push_back(fixed((*stack)[i]));
        const bool grad_mode = at::GradMode::is_enabled();
        run_kernel(op, keys, stack);
        torch::jit::Stack made;
        for (const c10::IValue& value : *stack) made.push_back(fixed(value));
        // Such an op runs no kernel. The empty entry only keeps the memory.
        if (makes_uninitialized(op.schema().name())) return add([made] {});
        const bool random = op.hasTag(at::Tag::nondeterministic_seeded);
        add([this, op, arguments, made, grad_mode, random, draws = draws_] {
            const std::unique_ptr<GeneratorState> before = device_.generator_state();
            if (random) draw_from(draws);
            at::GradMode::set_enabled(grad_mode);
            torch::jit::Stack again = arguments;
            op.callBoxed(again);
            at::GradMode::set_enabled(false);
            keep_addresses(made, again);
            device_.set_generator_state(*before);
        });
    }

    void submit(std::size_t part) override {
        at::AutoDispatchBelowADInplaceOrView below;
        at::NoGradGuard no_grad;
        for (const std::function<void()>& entry : parts_.at(part)) entry();
    }

  private:
    void draw_from(std::int64_t draws) {
        const std::unique_ptr<GeneratorState> placed = device_.generator_state();
        placed->advance(draws);
        device_.set_generator_state(*placed);
    }

    static void keep_addresses(const torch::jit::Stack& captured, const torch::jit::Stack& again) {
        std::vector<at::Tensor> results;
        for_each_tensor(again, [&](const at::Tensor& tensor) { results.push_back(tensor); });
        std::size_t next = 0;
        for_each_tensor(captured, [&](const at::Tensor& tensor) {
            const at::Tensor& result = results.at(next++);
            if (tensor.defined() && tensor.storage().data() != result.storage().data())
                overwrite(tensor.storage(), result.storage());
        });
    }

    GraphCapturingDevice& device_;
    std::vector<std::vector<std::function<void()>>> parts_;
    std::int64_t draws_ = 0;
};

void GraphCapturingDevice::copy(c10::Storage& to, const c10::Storage& from) {
    cpu_.copy(to, from);
    if (capturing_) capturing_->add([to, from] { overwrite(to, from); });
}

void GraphCapturingDevice::place_generator(std::int64_t draws) {
    TORCH_CHECK(capturing_, "no graphs are captured");
    capturing_->place(draws);
}

std::unique_ptr<DeviceGraphs> GraphCapturingDevice::capture_graphs(
    std::span<const std::function<void()>> parts) {
    const std::vector<at::Tensor> before = copies_of(untouched_);
    const std::unique_ptr<GeneratorState> generator = cpu_.generator_state();
    auto graphs = std::make_unique<Graphs>(*this);
    capturing_ = graphs.get();
    {
        DispatchModeGuard guard(*graphs);
        for (const std::function<void()>& part : parts) {
            graphs->begin_part();
            part();
        }
    }
    capturing_ = nullptr;
    cpu_.set_generator_state(*generator);
    for (std::size_t i = 0; i < untouched_.size(); ++i)
        overwrite(untouched_[i].storage(), before[i].storage());
    return graphs;
}

}  // namespace rematlas::test
