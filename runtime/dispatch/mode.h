// Sees every ATen call of a region of code, just below autograd.
//
//     struct Printer : DispatchMode { void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
//     torch::jit::Stack* stack) override; }; Printer printer;
//     {
//         DispatchModeGuard guard(printer);
//         model.forward(inputs);   // printer.call is called for every factory, view, in-place op and kernel
//     }
//
// A mode stands on a dispatch key (runtime/torch_versions/own_key.h) that the thread-local state switches on;
// autograd carries that state to the threads of its own. One mode is in force at a time, and within one that
// takes it another, of one thread: the outer one's `run_kernel` is then its `call`.
// Inside `call` the key is off: what kernels call in turn is not seen.
//
// Dispatch modes and classes of tensors of Python (__torch_dispatch__) are part of the program: they run
// first, and what they call on plain tensors is what `call` sees.
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
    /// Takes the arguments off the stack and leaves the returns; usually through `run_kernel`.
    virtual void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) = 0;
    /// The call is one of a program that is traced within the region, by torch.compile say: it has fake
    /// tensors among its arguments, or a mode that traces is on. No `call` follows, unless it computes on
    /// real ones.
    virtual void is_traced(const c10::OperatorHandle& /*op*/) {}
    /// Whether another mode can be in force within this one.
    virtual bool takes_inner() const { return false; }

  protected:
    void run_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    /// The mode within this one sees the call next.
    bool has_inner() const;
};

/// The ops of this thread come to the mode in force as long as one of these lives. They need not end in the
/// order in which they began; one that ends on another thread leaves the thread as it is, whose ops then pass
/// through.
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
    /// Throws where another mode is in force, of another thread say, that takes none within it.
    explicit DispatchModeGuard(DispatchMode& mode);
    /// Nothing where the other would throw.
    static std::unique_ptr<DispatchModeGuard> unless_another(DispatchMode& mode);
    /// For ops that are not the program's: a mode that takes one within it does not see them. Nothing where
    /// another is in force.
    static std::unique_ptr<DispatchModeGuard> unseen_by_outer(DispatchMode& mode);
    ~DispatchModeGuard();
    DispatchModeGuard(const DispatchModeGuard&) = delete;
    DispatchModeGuard& operator=(const DispatchModeGuard&) = delete;

  private:
    DispatchModeGuard(DispatchMode& mode, DispatchMode* outer);
    OwnKeyIncluded include_;
    DispatchMode& mode_;
    bool sets_aside_ = false;  ///< another mode, which is in force again afterwards
};

}  // namespace rematlas
