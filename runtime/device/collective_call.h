// Waits for collectives, whose calls return before their data has arrived.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/UndefinedTensorImpl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rematlas {

/// A call of a collective, from before it runs until its data has arrived.
class CollectiveCall {
  public:
    enum class Waits { at_once, later };  ///< whether other ops have run since the collective began (`later`)

    /// The arguments are on top of the stack.
    CollectiveCall(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
    /// Waits for the data. The results are on top of the stack. Throws the error of a collective that fails.
    void wait(const torch::jit::Stack& stack, Waits waits = Waits::at_once) const;

  private:
    /// A host tensor, and how many references to the tensor and to its memory exist outside of the call.
    struct Held {
        c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> tensor;
        c10::weak_intrusive_ptr<c10::StorageImpl> memory;
        std::size_t uses, uses_of_memory;
    };
    static Held held(const at::Tensor& tensor, std::size_t uses);

    c10::OperatorHandle op_;
    std::int64_t alive_before_;  ///< bytes of host memory that tensors took before the call
    std::vector<Held> given_;
};

/// Says whether `here` is true on all processes of the group. All these processes must call this function.
bool is_true_on_all(bool here, const std::string& group, c10::Device device);

}  // namespace rematlas
