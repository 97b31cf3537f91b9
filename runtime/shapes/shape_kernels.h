// Runs ops in place of the kernels when only shapes are known.
//
//     ShapeKernels kernels(device);                  // e.g. {CUDA, 0}, which need not exist
//     kernels.run(op, keys, stack);                  // takes the arguments, leaves the returns
//
// Each op runs on Meta twins of its arguments, and its results become shape tensors of the device. Small
// tensors in host memory that depend on no shape tensor keep their data: their ops run for real, so that
// constants have values, and programs that ask for these values can go on. The same holds for small tensors
// of an absent device, whose values are in host memory.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>

namespace rematlas {

class ShapeKernels {
  public:
    /// Adds the kernels for shapes that libtorch has in Python only to the dispatcher.
    explicit ShapeKernels(c10::Device device, bool is_absent = false);

    /// Returns why the op cannot run, if so: "no shape function for ...". Throws the exceptions of the op's
    /// own checks.
    std::optional<std::string> run(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                   torch::jit::Stack* stack);

    /// True if some op was given tensors in host memory that its device could not read. They count as
    /// tensors of the device, because a program that was traced on the host names the host where the device
    /// would make them.
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
