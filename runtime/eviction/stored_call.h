// An operator call that can be repeated: its arguments without the memory of their tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/SizesAndStrides.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/dispatch/stack_tensors.h"

namespace rematlas {

class StoredCall {
  public:
    /// A tensor among the arguments. `storage` is the caller's id of its storage; -1 if the caller does not
    /// know the storage, or if the call does not read it.
    struct Place {
        std::size_t argument;
        int item;  ///< index in a list; -1 if the argument is itself a tensor
        int storage = -1;
        bool kept = false;  ///< the tensor is small and on another device, so a copy of it is kept
    };

    /// Must be made before the kernel runs, while the arguments are the last values on the stack.
    StoredCall(const c10::OperatorHandle& op, c10::DispatchKeySet keys, const torch::jit::Stack& stack,
               std::vector<Place> places);

    /// Sets the generator state from which each run of a random op draws.
    void draws_from(std::unique_ptr<GeneratorState> state) { state_ = std::move(state); }
    /// Later runs do not get this argument. Used for running statistics, which must change only once.
    void leave_out(std::size_t argument) { left_out_.push_back(argument); }

    /// Runs the op. `storage_of(place)` is called for each place, in order, and must return the storage of
    /// the place, or null if it has none. Returns the results of the op. Restores the state of the generator.
    torch::jit::Stack run(DeviceRuntime& device, const std::function<c10::Storage(const Place&)>& storage_of);

    /// Per returned tensor, with lists flattened: the index of the tensor's storage among the op's outputs;
    /// -1 if the op did not make the storage.
    std::vector<int> returns;

    const std::vector<Place>& places() const { return places_; }
    const c10::OperatorHandle& op() const { return op_; }

  private:
    /// The geometry and type of a place's tensor. The tensor itself is not kept: making it for a rerun costs
    /// less than keeping it for each first run.
    struct Look {
        c10::impl::SizesAndStrides geometry;
        std::int64_t offset = 0;
        c10::ScalarType dtype = c10::ScalarType::Float;
        c10::Device device = c10::kCPU;
        bool wrapped_number = false, conjugated = false, negated = false;
        at::Tensor copy;  ///< a copy with the contents, if the place is `kept`

        at::Tensor on(c10::Storage storage) const;
    };

    c10::OperatorHandle op_;
    c10::DispatchKeySet keys_;
    c10::impl::LocalDispatchKeySet thread_keys_;
    bool grad_mode_;
    std::vector<c10::IValue> arguments_;  ///< arguments with tensors are built again for each run
    std::vector<Place> places_;
    std::vector<Look> looks_;  ///< per place
    std::vector<std::size_t> left_out_;
    std::unique_ptr<GeneratorState> state_;
    std::optional<std::pair<std::size_t, at::Generator>> generator_;  ///< the call's own generator, in its
                                                                      ///< state before the call
};

}  // namespace rematlas
