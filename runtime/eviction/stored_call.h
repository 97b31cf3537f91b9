// A call of an operator that can be repeated: its arguments without the memory of their tensors.
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
    /// A tensor among the arguments, and the id of the storage in the caller's books; -1: the storage is in
    /// no books, or the call does not read it.
    struct Place {
        std::size_t argument;
        int item;  ///< index in a list; -1 if the argument is a tensor
        int storage = -1;
        bool kept = false;  ///< the tensor is small and on another device, so that a copy is kept
    };

    /// To be made before the kernel runs, when the arguments are the last on the stack.
    StoredCall(const c10::OperatorHandle& op, c10::DispatchKeySet keys, const torch::jit::Stack& stack,
               std::vector<Place> places);

    /// The state of the generator from which each run of a random op draws again.
    void draws_from(std::unique_ptr<GeneratorState> state) { state_ = std::move(state); }
    /// Later runs do not get the argument: running statistics, which move only once.
    void leave_out(std::size_t argument) { left_out_.push_back(argument); }

    /// Runs the op with the storages that `storage_of(place)` gives, asked in the order of the places; null
    /// stands for no storage. Returns the results of the op. The random state is put back.
    torch::jit::Stack run(DeviceRuntime& device, const std::function<c10::Storage(const Place&)>& storage_of);

    /// Per returned tensor, lists flattened: the index of the op's new storage in which it lies; -1: in
    /// none.
    std::vector<int> returns;

    const std::vector<Place>& places() const { return places_; }
    const c10::OperatorHandle& op() const { return op_; }

  private:
    /// The geometry and type of the tensor of a place. No tensor is kept for it, because making one for a
    /// rerun costs less than keeping one for each first run.
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
    std::vector<c10::IValue> arguments_;  ///< arguments that hold tensors are made anew for each run
    std::vector<Place> places_;
    std::vector<Look> looks_;  ///< per place
    std::vector<std::size_t> left_out_;
    std::unique_ptr<GeneratorState> state_;
    std::optional<std::pair<std::size_t, at::Generator>> generator_;  ///< the call's own generator, as it was
};

}  // namespace rematlas
