#include "runtime/dispatch/mode.h"

#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/library.h>

#include <atomic>

namespace rematlas {
namespace {

std::atomic<DispatchMode*> mode_in_force{nullptr};

/// Fake and functional tensors are Python's, and lie on Meta tensors.
bool runs_on_stand_ins(c10::DispatchKeySet keys) {
    return keys.has_any(c10::python_ks) || keys.has(c10::DispatchKey::Meta) ||
           c10::impl::TorchDispatchModeTLS::any_modes_set();
}

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    c10::impl::ExcludeDispatchKeyGuard inside(c10::DispatchKey::Fake);
    DispatchMode* mode = mode_in_force.load();
    if (mode && !runs_on_stand_ins(keys)) return mode->call(op, keys, stack);
    if (mode) mode->is_traced(op);
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake),
                       stack);
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

std::unique_ptr<DispatchModeGuard> DispatchModeGuard::unless_another(DispatchMode& mode) {
    try {
        return std::make_unique<DispatchModeGuard>(mode);
    } catch (const c10::Error&) {
        return nullptr;
    }
}

DispatchModeGuard::~DispatchModeGuard() {
    mode_in_force.store(nullptr);
}

}  // namespace rematlas
