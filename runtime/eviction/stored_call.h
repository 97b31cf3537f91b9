// A call of an operator that can be made again: its arguments without the memory of their tensors.
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
    /// A tensor among the arguments, and the storage (by whose books it is) that it looks at; -1: none, or
    /// one that the call does not read.
    struct Place {
        std::size_t argument;
        int item;  ///< of a list; -1 where the argument is a tensor
        int storage = -1;
        bool kept = false;  ///< it is small and of another device: a copy is kept
    };

    /// Before the kernel runs: the arguments are the last on the stack.
    StoredCall(const c10::OperatorHandle& op, c10::DispatchKeySet keys, const torch::jit::Stack& stack,
               std::vector<Place> places);

    /// A random op draws from there again.
    void draws_from(std::unique_ptr<GeneratorState> state) { state_ = std::move(state); }
    /// Later runs are not given the argument: running statistics, which move once.
    void leave_out(std::size_t argument) { left_out_.push_back(argument); }

    /// With the storages that `storage_of(place)` gives, asked in the order of the places; null: none. Returns
    /// what the op returned. The random state is put back.
    torch::jit::Stack run(DeviceRuntime& device, const std::function<c10::Storage(const Place&)>& storage_of);

    /// Per returned tensor, lists flattened: which of the op's new storages it lies in; -1: in none.
    std::vector<int> returns;

    const std::vector<Place>& places() const { return places_; }
    const c10::OperatorHandle& op() const { return op_; }

  private:
    /// The tensor of a place, as it looked. No tensor is kept for it: making one again costs a rerun less than
    /// keeping one costs each first run.
    struct Look {
        c10::impl::SizesAndStrides geometry;
        std::int64_t offset = 0;
        c10::ScalarType dtype = c10::ScalarType::Float;
        c10::Device device = c10::kCPU;
        bool wrapped_number = false, conjugated = false, negated = false;
        at::Tensor copy;  ///< where its contents are kept

        at::Tensor on(c10::Storage storage) const;
    };

    c10::OperatorHandle op_;
    c10::DispatchKeySet keys_;
    c10::impl::LocalDispatchKeySet thread_keys_;
    bool grad_mode_;
    std::vector<c10::IValue> arguments_;  ///< those that hold tensors are made anew for each run
    std::vector<Place> places_;
    std::vector<Look> looks_;  ///< per place
    std::vector<std::size_t> left_out_;
    std::unique_ptr<GeneratorState> state_;
    std::optional<std::pair<std::size_t, at::Generator>> generator_;  ///< of its own, as it was
};

}  // namespace rematlas
