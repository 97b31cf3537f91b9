// Facts about collectives: ops by which the processes of one training exchange data. A collective returns
// before its data has arrived, and its results may be read only after a wait. Each process of a group must
// run the group's collectives in the same order.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/UndefinedTensorImpl.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rematlas {

/// Says whether the op is a functional collective (`_c10d_functional::all_reduce`) or one that writes to its
/// first argument (`c10d::allreduce_`), but no wait.
bool is_collective(std::string_view op);
/// Says whether the op waits for the result of a functional collective.
bool waits_for_collective(std::string_view op);
/// Says whether the op exchanges data with other processes in a way that no plan can repeat: between two
/// processes, or with several tensors at a time.
bool exchanges_data_otherwise(std::string_view op);
/// Says whether the op only wraps the result of a functional collective into an object that waits for the
/// result when it is used.
bool wraps_result(std::string_view op);
/// Says whether the kernel writes to the first argument although the schema does not declare this.
bool writes_to_first_argument(std::string_view op);

/// A call of a collective, from before it runs until its data has arrived.
class CollectiveCall {
  public:
    /// The arguments are on top of the stack.
    CollectiveCall(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
    /// Waits for the data. The results are on top of the stack.
    void wait(const torch::jit::Stack& stack) const;

  private:
    /// A tensor on the host, and how often it and its memory are used outside of the call.
    struct Held {
        c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> tensor;
        c10::weak_intrusive_ptr<c10::StorageImpl> memory;
        std::size_t uses, uses_of_memory;
    };
    static Held held(const at::Tensor& tensor, std::size_t uses);

    const c10::OperatorHandle& op_;
    std::int64_t alive_before_;  ///< bytes of host memory that tensors took before the call
    std::vector<Held> given_;
};

/// Returns the position of a collective's argument that names the process group.
std::size_t group_argument(const c10::FunctionSchema& schema);
/// Returns the name of a process group that a collective was given: by name, or as an object.
std::string name_of_group(const c10::IValue& group);
/// Says whether `here` is true on all processes of the group. All of them must call this function.
bool is_true_on_all(bool here, const std::string& group, c10::Device device);

}  // namespace rematlas
