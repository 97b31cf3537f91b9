#include "runtime/dispatch/mode.h"

#include <torch/library.h>

#include <atomic>

namespace rematlas {
namespace {

std::atomic<DispatchMode*> mode_in_force{nullptr};

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    c10::impl::ExcludeDispatchKeyGuard inside(c10::DispatchKey::Fake);
    if (DispatchMode* mode = mode_in_force.load()) {
        mode->call(op, keys, stack);
    } else {
        op.redispatchBoxed(
            keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake), stack);
    }
}

TORCH_LIBRARY_IMPL(_, Fake, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace

void DispatchMode::run_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                              torch::jit::Stack* stack) {
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake),
                       stack);
}

DispatchModeGuard::DispatchModeGuard(DispatchMode& mode) : include_(c10::DispatchKey::Fake) {
    DispatchMode* none = nullptr;
    TORCH_CHECK(mode_in_force.compare_exchange_strong(none, &mode), "another dispatch mode is in force");
}

DispatchModeGuard::~DispatchModeGuard() {
    mode_in_force.store(nullptr);
}

}  // namespace rematlas
