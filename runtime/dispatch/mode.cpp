#include "runtime/dispatch/mode.h"

#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/function.h>
#include <torch/library.h>

#include <atomic>
#include <thread>

namespace rematlas {
namespace {

std::atomic<DispatchMode*> mode_in_force{nullptr};
std::atomic<DispatchMode*> mode_within{nullptr};
std::atomic<std::thread::id> thread_within{};

/// Fake and functional tensors are Python's, and lie on Meta tensors.
bool runs_on_stand_ins(c10::DispatchKeySet keys) {
    return keys.has_any(c10::python_ks) || keys.has(c10::DispatchKey::Meta) ||
           c10::impl::TorchDispatchModeTLS::any_modes_set();
}

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    c10::impl::ExcludeDispatchKeyGuard inside(c10::DispatchKey::Fake);
    DispatchMode* mode = mode_in_force.load();
    if (!mode) mode = mode_within.load();
    if (mode && !runs_on_stand_ins(keys)) return mode->call(op, keys, stack);
    if (mode) mode->is_traced(op);
    if (DispatchMode* inner = mode_within.load()) inner->is_traced(op);
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake),
                       stack);
}

TORCH_LIBRARY_IMPL(_, Fake, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace

void DispatchMode::run_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                              torch::jit::Stack* stack) {
    if (has_inner()) return mode_within.load()->call(op, keys, stack);
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake),
                       stack);
}

/// Of the thread that put the inner mode in force, and of what autograd does for it on threads of its own.
bool DispatchMode::has_inner() const {
    const DispatchMode* inner = mode_within.load();
    return inner && inner != this &&
           (thread_within.load() == std::this_thread::get_id() || torch::autograd::get_current_node());
}

DispatchModeGuard::DispatchModeGuard(DispatchMode& mode) : include_(c10::DispatchKey::Fake), mode_(mode) {
    DispatchMode *outer = nullptr, *none = nullptr;
    if (mode_in_force.compare_exchange_strong(outer, &mode)) return;
    TORCH_CHECK(outer->takes_inner() && mode_within.compare_exchange_strong(none, &mode),
                "another dispatch mode is in force");
    thread_within = std::this_thread::get_id();
}

std::unique_ptr<DispatchModeGuard> DispatchModeGuard::unless_another(DispatchMode& mode) {
    try {
        return std::make_unique<DispatchModeGuard>(mode);
    } catch (const c10::Error&) {
        return nullptr;
    }
}

DispatchModeGuard::DispatchModeGuard(DispatchMode& mode, DispatchMode* outer)
    : include_(c10::DispatchKey::Fake), mode_(mode), aside_(outer) {}

std::unique_ptr<DispatchModeGuard> DispatchModeGuard::unseen_by_outer(DispatchMode& mode) {
    DispatchMode* outer = mode_in_force.load();
    if ((outer && !outer->takes_inner()) || mode_within.load() ||
        !mode_in_force.compare_exchange_strong(outer, &mode))
        return nullptr;
    return std::unique_ptr<DispatchModeGuard>(new DispatchModeGuard(mode, outer));
}

DispatchModeGuard::~DispatchModeGuard() {
    DispatchMode* mine = &mode_;
    if (!mode_within.compare_exchange_strong(mine, nullptr)) mode_in_force.store(aside_);
}

}  // namespace rematlas
