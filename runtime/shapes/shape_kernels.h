// Stands in for the kernels when only shapes are known.
//
//     ShapeKernels kernels(device);                  // e.g. {CUDA, 0}, which need not exist
//     kernels.run(op, keys, stack);                  // takes the arguments, leaves the returns
//
// Each op runs on Meta twins of its arguments and what it makes becomes shape tensors of the device. Small
// tensors in host memory that depend on no shape tensor keep their data: their ops run for real, so that
// constants have values and programs that ask for these can go on. So do small tensors of a device that is not
// there, whose values lie in host memory.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>

namespace rematlas {

class ShapeKernels {
  public:
    /// Adds to the dispatcher the kernels for shapes that libtorch has in Python only.
    explicit ShapeKernels(c10::Device device, bool is_absent = false);

    /// Says why it cannot: "no shape function for ...". Throws what the op's own checks throw.
    std::optional<std::string> run(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                   torch::jit::Stack* stack);

    /// Some op was given tensors in host memory that its device could not read. They are taken as the device's: a
    /// program that was traced on the host names it for what the device would make.
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
