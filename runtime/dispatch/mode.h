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
// autograd carries that state to its own threads. One mode is in force at a time. If that mode takes an
// inner one, a second mode of one thread can be in force within it: `run_kernel` of the outer mode then
// calls the inner one's `call`. Inside `call` the key is off, so that calls by kernels are not seen.
//
// Dispatch modes and classes of tensors of Python (__torch_dispatch__) are part of the program: they run
// first, and `call` sees the ops that they call on plain tensors.
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
    /// The call belongs to a program that is traced within the region, for example by torch.compile: it has
    /// fake tensors among its arguments, or a mode that traces is on. No `call` follows, unless the call
    /// computes on real tensors.
    virtual void is_traced(const c10::OperatorHandle& /*op*/) {}
    /// Whether another mode can be in force within this one.
    virtual bool takes_inner() const { return false; }

  protected:
    void run_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);
    /// True if a mode within this one sees the call next.
    bool has_inner() const;
};

/// The ops of this thread come to the mode in force as long as an object of this class lives. Objects need
/// not end in the order in which they began. One that ends on another thread does not change its own
/// thread, whose ops then pass through.
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
    /// Throws if another mode is in force, perhaps of another thread, that takes no mode within it.
    explicit DispatchModeGuard(DispatchMode& mode);
    /// Returns null where the constructor would throw.
    static std::unique_ptr<DispatchModeGuard> unless_another(DispatchMode& mode);
    /// For ops that are not the program's: a mode in force that takes a mode within it does not see them.
    /// Returns null if the mode in force takes none, or if a mode is within it already.
    static std::unique_ptr<DispatchModeGuard> unseen_by_outer(DispatchMode& mode);
    ~DispatchModeGuard();
    DispatchModeGuard(const DispatchModeGuard&) = delete;
    DispatchModeGuard& operator=(const DispatchModeGuard&) = delete;

  private:
    DispatchModeGuard(DispatchMode& mode, DispatchMode* outer);
    OwnKeyIncluded include_;
    DispatchMode& mode_;
    bool sets_aside_ = false;  ///< another mode was set aside, and is in force again afterwards
};

}  // namespace rematlas
