#include "runtime/dispatch/mode.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/function.h>

#include <atomic>

#include "runtime/dispatch/every_op.h"
#include "runtime/dispatch/stack_tensors.h"
#include "runtime/torch_versions/own_key.h"

namespace rematlas {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::impl::TorchDispatchModeKey;
using c10::impl::TorchDispatchModeTLS;

std::atomic<DispatchMode*> mode_in_force{nullptr};
std::atomic<DispatchMode*> mode_within{nullptr};
/// The mode that `unseen_by_outer` has set aside. It sees no ops while `mode_in_force` is set.
std::atomic<DispatchMode*> mode_aside{nullptr};
std::atomic<std::thread::id> thread_within{};
thread_local int includes = 0;  ///< number of OwnKeyIncluded objects of this thread
thread_local bool was_included = false;

/// Says whether a tensor is fake. A fake tensor has a Python class, and its storage is on the device Meta
/// although the tensor shows another device.
bool is_fake(const at::Tensor& tensor) {
    return runs_python(tensor) && tensor.has_storage() &&
           tensor.unsafeGetTensorImpl()->unsafe_storage().device_type() == c10::kMeta &&
           !tensor.unsafeGetTensorImpl()->key_set().has_backend(c10::BackendComponent::MetaBit);
}

/// Says whether the call belongs to a program that is being traced, for example by torch.compile: a mode that
/// traces is on, or an argument is a fake tensor.
bool traces(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    const auto is_on = [](TorchDispatchModeKey key) {
        return TorchDispatchModeTLS::get_mode(key).has_value();
    };
    bool found = is_on(TorchDispatchModeKey::FAKE) || is_on(TorchDispatchModeKey::PROXY) ||
                 is_on(TorchDispatchModeKey::FUNCTIONAL);
    for_each_tensor_of(stack, op.schema().arguments().size(),
                       [&](std::size_t, int, const at::Tensor& tensor) { found = found || is_fake(tensor); });
    return found;
}

/// Returns the interpreter whose Python code handles the call: the interpreter of the innermost mode, or of a
/// tensor's class if there is no mode.
const c10::impl::PyInterpreter* interpreter_of(const c10::OperatorHandle& op,
                                               const torch::jit::Stack& stack) {
    if (const std::int64_t modes = TorchDispatchModeTLS::stack_len(); modes > 0)
        return &TorchDispatchModeTLS::get_stack_at(modes - 1)->pyinterpreter();
    const c10::impl::PyInterpreter* found = nullptr;
    for_each_tensor_of(stack, op.schema().arguments().size(),
                       [&](std::size_t, int, const at::Tensor& tensor) {
                           if (!found && runs_python(tensor)) found = c10::impl::getGlobalPyInterpreter();
                       });
    return found;
}

/// Does the same as libtorch's fallback for Python, but leaves Rematlas' key on. So the mode in force sees
/// the ops that the Python code calls.
void call_python(const c10::impl::PyInterpreter& interpreter, const c10::OperatorHandle& op,
                 torch::jit::Stack* stack) {
    constexpr DispatchKeySet from_python =
        DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::Python) | DispatchKeySet(DispatchKey::Python);
    constexpr DispatchKeySet before_python =
        (DispatchKeySet(DispatchKeySet::FULL) ^ from_python).remove(own_key);
    const c10::impl::ExcludeDispatchKeyGuard below(before_python);
    interpreter->dispatch(op, stack);
}

void redispatch(const c10::OperatorHandle& op, DispatchKeySet keys, torch::jit::Stack* stack) {
    op.redispatchBoxed(behind_own_key(keys), stack);
}

/// Handles an op. Modes and tensor classes that are written in Python come first: they are part of the
/// program, and the mode in force sees the ops that they call on plain tensors. In torch 2.13 and later, the
/// dispatcher handles Python's key before Rematlas' key. Python's modes and classes have then run before this
/// function, and calls on fake tensors arrive without Python's key.
void answer(const c10::OperatorHandle& op, DispatchKeySet keys, torch::jit::Stack* stack) {
    DispatchMode* mode = mode_in_force.load();
    if (!mode) mode = mode_within.load();
    const bool is_python = keys.has(DispatchKey::Python);
    if (mode && (is_python || keys.has(DispatchKey::Meta)) && traces(op, *stack)) {
        mode->is_traced(op);
        if (DispatchMode* inner = mode_within.load()) inner->is_traced(op);
    }
    if (is_python) {
        if (const auto* interpreter = interpreter_of(op, *stack)) return call_python(*interpreter, op, stack);
        keys = keys.remove(DispatchKey::Python);
    }
    const c10::impl::ExcludeDispatchKeyGuard inside(own_key);
    // The mode in force does not see calls on the Meta device.
    mode && !keys.has(DispatchKey::Meta) ? mode->call(op, keys, stack) : redispatch(op, keys, stack);
}

/// Returns false if no mode is in force, or if an argument has the key. Such an argument belongs to the other
/// library that has a fallback on the key.
bool is_ours(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    bool are_others = false;
    for_each_tensor_of(stack, op.schema().arguments().size(),
                       [&](std::size_t, int, const at::Tensor& tensor) {
                           are_others = are_others || tensor.key_set().has(own_key);
                       });
    return !are_others && (mode_in_force.load() || mode_within.load());
}

const bool is_answered = (answer_for_every_op({&answer, &is_ours}), true);

}  // namespace

void DispatchMode::run_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                              torch::jit::Stack* stack) {
    has_inner() ? mode_within.load()->call(op, keys, stack) : redispatch(op, keys, stack);
}

/// Returns true on the thread that put the inner mode in force, and on autograd's own threads.
bool DispatchMode::has_inner() const {
    const DispatchMode* inner = mode_within.load();
    return inner && inner != this &&
           (thread_within.load() == std::this_thread::get_id() || torch::autograd::get_current_node());
}

OwnKeyIncluded::OwnKeyIncluded() : thread_(std::this_thread::get_id()) {
    if (includes++ > 0) return;
    was_included = c10::impl::tls_is_dispatch_key_included(own_key);
    c10::impl::tls_set_dispatch_key_included(own_key, true);
}

OwnKeyIncluded::~OwnKeyIncluded() {
    if (thread_ != std::this_thread::get_id() || --includes > 0) return;
    c10::impl::tls_set_dispatch_key_included(own_key, was_included);
}

DispatchModeGuard::DispatchModeGuard(DispatchMode& mode) : mode_(mode) {
    cover_new_ops();
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
    : mode_(mode), sets_aside_(true) {
    mode_aside = outer;
}

std::unique_ptr<DispatchModeGuard> DispatchModeGuard::unseen_by_outer(DispatchMode& mode) {
    DispatchMode* outer = mode_in_force.load();
    if ((outer && !outer->takes_inner()) || mode_within.load() ||
        !mode_in_force.compare_exchange_strong(outer, &mode))
        return nullptr;
    return std::unique_ptr<DispatchModeGuard>(new DispatchModeGuard(mode, outer));
}

DispatchModeGuard::~DispatchModeGuard() {
    if (sets_aside_) {
        mode_in_force = mode_aside.exchange(nullptr);
        return;
    }
    // The guard looks in all three places, because modes need not end in the order in which they began: an
    // eviction can end within a step that has set the evictor aside.
    for (std::atomic<DispatchMode*>* place : {&mode_within, &mode_aside, &mode_in_force}) {
        DispatchMode* mine = &mode_;
        if (place->compare_exchange_strong(mine, nullptr)) return;
    }
}

}  // namespace rematlas
