#include "runtime/dispatch/every_op.h"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/torch_versions/own_key.h"

namespace rematlas {
namespace {

using c10::Dispatcher;
using c10::DispatchKeySet;
using c10::OperatorHandle;
using c10::OperatorName;

AnswerForOps in_place;

/// A kernel of Rematlas for one op. It passes calls that are not Rematlas' to another library's kernel.
class OneOp final : public c10::OperatorKernel {
  public:
    explicit OneOp(c10::SafeKernelFunction others) : others_(std::move(others)) {}
    void operator()(const OperatorHandle& op, DispatchKeySet keys, torch::jit::Stack* stack) {
        in_place.is_ours(op, *stack) ? in_place.answer(op, keys, stack) : others_.callBoxed(op, keys, stack);
    }

  private:
    c10::SafeKernelFunction others_;
};

/// Collects the ops that have no kernel of Rematlas yet.
class NewOps final : public c10::OpRegistrationListener {
  public:
    /// Called by the dispatcher while it is locked; the first calls are for all existing ops.
    void onOperatorRegistered(const OperatorHandle& op) override {
        const std::lock_guard lock(mutex_);
        names_.push_back(op.operator_name());
    }
    void onOperatorDeregistered(const OperatorHandle&) override {}
    std::vector<OperatorName> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(names_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<OperatorName> names_;
};

/// Gives each op a kernel of Rematlas.
class EachOp {
  public:
    EachOp() {
        auto listener = std::make_unique<NewOps>();
        new_ = listener.get();
        listens_ = Dispatcher::singleton().addRegistrationListener(std::move(listener));
        cover();
    }
    void cover() {
        for (const OperatorName& name : new_->take()) {
            const std::optional<OperatorHandle> op = Dispatcher::singleton().findSchema(name);
            if (!op) continue;
            auto kernel = std::make_unique<OneOp>(op->getComputedKernelForDispatchKey(own_key));
            kernels_.push_back(Dispatcher::singleton().registerImpl(
                name, own_key, c10::KernelFunction::makeFromBoxedFunctor(std::move(kernel)), std::nullopt,
                nullptr, "rematlas, beside another fallback"));
        }
    }

  private:
    NewOps* new_ = nullptr;  ///< owned by the dispatcher
    c10::RegistrationHandleRAII listens_{[] {}};
    std::vector<c10::RegistrationHandleRAII> kernels_;
};

/// Null if the key's fallback is Rematlas' own. The object is never freed, because its kernels are called
/// until the process ends.
EachOp* each_op = nullptr;

void fallback(const OperatorHandle& op, DispatchKeySet keys, torch::jit::Stack* stack) {
    in_place.answer(op, keys, stack);
}

}  // namespace

void answer_for_every_op(const AnswerForOps& taken) {
    in_place = taken;
    Dispatcher& dispatcher = Dispatcher::singleton();
    if (dispatcher.hasBackendFallbackForDispatchKey(own_key)) {
        each_op = new EachOp;
        return;
    }
    static c10::RegistrationHandleRAII registered = dispatcher.registerFallback(
        own_key, c10::KernelFunction::makeFromBoxedFunction<&fallback>(), "rematlas");
}

void cover_new_ops() {
    if (each_op) each_op->cover();
}

}  // namespace rematlas
