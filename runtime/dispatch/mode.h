// Sees every ATen call of a region of code, just below autograd.
//
//     struct Printer : DispatchMode {
//         void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
//                   torch::jit::Stack* stack) override;
//     };
//     Printer printer;
//     {
//         DispatchModeGuard guard(printer);
//         model.forward(inputs);   // printer.call is called for every factory, view, in-place op and kernel
//     }
//
// A mode uses a dispatch key (runtime/torch_versions/own_key.h) that the thread-local state switches on;
// autograd carries that state to its own threads. Only one mode is in force at a time. However, if that mode
// accepts an inner mode, one thread can put a second mode in force within it: `run_kernel` of the outer mode
// then calls the inner mode's `call`. Inside `call` the key is off, so ops that kernels call are not seen.
//
// Python's dispatch modes and tensor classes (__torch_dispatch__) are part of the program: they run first,
// and `call` sees the ops that they call on plain tensors.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <memory>
#include <thread>

namespace rematlas {

class DispatchMode {
  public:
    virtual ~DispatchMode() = default;
    /// Must pop the arguments off the stack and push the results; usually by a call of `run_kernel`.
    virtual void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) = 0;
    /// Called when the op belongs to a program that is traced within the region, for example by
    /// torch.compile: fake tensors are among its arguments, or a mode that traces is on. `call` is then not
    /// called for the op, unless the op computes on real tensors.
    virtual void is_traced(const c10::OperatorHandle& /*op*/) {}
    /// Says whether another mode can be in force within this mode.
    virtual bool takes_inner() const { return false; }

  protected:
    void run_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    /// Returns true if a mode within this mode sees the call next.
    bool has_inner() const;
};

/// While an object of this class lives, the mode in force sees the ops of this thread. Objects need not end
/// in the order in which they began. If an object begins on one thread and ends on another, the dispatch key
/// stays on in the first thread; the ops of the first thread then pass through unchanged unless a mode is in
/// force.
class OwnKeyIncluded {
  public:
    OwnKeyIncluded();
    ~OwnKeyIncluded();
    OwnKeyIncluded(const OwnKeyIncluded&) = delete;
    OwnKeyIncluded& operator=(const OwnKeyIncluded&) = delete;

  private:
    std::thread::id thread_;
};

/// Puts a mode in force until the end of the scope. The mode must outlive the guard.
class DispatchModeGuard {
  public:
    /// Throws if a mode that accepts no inner mode is in force already, in this thread or in another one, or
    /// if the mode in force has an inner mode already.
    explicit DispatchModeGuard(DispatchMode& mode);
    /// Like the constructor, but returns null when the constructor would throw.
    static std::unique_ptr<DispatchModeGuard> unless_another(DispatchMode& mode);
    /// Puts `mode` in force for ops that do not belong to the program. If a mode that accepts an inner mode
    /// is in force, that mode is set aside and does not see these ops. Returns null if the mode in force
    /// accepts no inner mode or has one already.
    static std::unique_ptr<DispatchModeGuard> unseen_by_outer(DispatchMode& mode);
    ~DispatchModeGuard();
    DispatchModeGuard(const DispatchModeGuard&) = delete;
    DispatchModeGuard& operator=(const DispatchModeGuard&) = delete;

  private:
    DispatchModeGuard(DispatchMode& mode, DispatchMode* outer);
    OwnKeyIncluded include_;
    DispatchMode& mode_;
    bool sets_aside_ = false;  ///< another mode was set aside, and is put in force again afterwards
};

}  // namespace rematlas
