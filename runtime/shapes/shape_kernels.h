// Computes the results of ops without running their kernels, when only shapes are known.
//
//     ShapeKernels kernels(device);                  // e.g. {CUDA, 0}, which need not exist
//     kernels.run(op, keys, stack);                  // replaces the arguments by the results
//
// Each op runs on twins of its arguments, which are tensors of the Meta device, and its results become shape
// tensors of the device. Small tensors in host memory that depend on no shape tensor keep their data: their
// ops run for real, so constants have values, and programs that ask for these values can go on. The same
// holds for small tensors of an absent device, whose values are in host memory.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>

namespace rematlas {

class ShapeKernels {
  public:
    /// Registers shape kernels for ops whose shapes libtorch knows only in Python. `is_absent`: the device
    /// does not exist.
    explicit ShapeKernels(c10::Device device, bool is_absent = false);

    /// Runs an op. Returns the reason, such as "no shape function for ...", if the op cannot run, else
    /// nothing. Throws the exceptions of the op's own checks.
    std::optional<std::string> run(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                   torch::jit::Stack* stack);

    /// Says whether some op was given tensors in host memory that its device could not read. These tensors
    /// count as tensors of the device: a program that was traced on the host names the host for tensors that
    /// it would otherwise make on the device.
    bool takes_host_tensors() const { return takes_host_tensors_; }

    struct TwinDevice;

  private:
    void run_on_twins(const c10::OperatorHandle& op, torch::jit::Stack* stack, const TwinDevice& where);
    bool run_for_real(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

    c10::Device device_;
    bool is_absent_;
    bool takes_host_tensors_ = false;
};

}  // namespace rematlas
