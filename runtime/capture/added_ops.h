// Adds ops, tensors and optimizer states to a captured step. Each new op is placed behind an op of the
// captured step, that is, it comes right after that op in the order of the ops.
//
//     AddedOps added(step, device);
//     const int sum = added.add_state("w.grad", like, 0);
//     added.behind(op).push_back(added.op_of("aten::add_", "Tensor", "", {...}, {}));
//     added.put_in_order();   // now the step contains the added ops
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/capture/build_graph.h"
#include "runtime/device/device.h"

namespace rematlas {

Argument tensor_argument(int operand);
Argument tensors_argument(std::vector<int> operands);
Argument value_argument(c10::IValue value);

class AddedOps {
  public:
    /// `step` and `device` must outlive the object.
    AddedOps(CapturedStep& step, const DeviceRuntime& device);

    struct Added {
        Op op;
        TapeOp tape;
    };
    TensorId tensor_of(int operand) const;
    int add_operand(Operand operand);
    /// Adds a tensor with the geometry and type of `like`, and returns its operand.
    int add_tensor(std::string name, Operand like, TensorKind kind);
    /// Adds a state of the optimizer, and returns its operand.
    int add_state(const std::string& name, const Operand& like, double initial);
    /// Returns an op of the phase `optimizer`. `returns`: the operands that the op makes.
    Added op_of(std::string name, std::string overload, std::string module, std::vector<Argument> arguments,
                const std::vector<int>& returns) const;
    /// Adds an op behind the last op of the captured step, and returns the operand that the new op makes.
    int add_number(std::string name, const char* op, const char* overload, std::vector<Argument> arguments,
                   const Operand& like);
    /// Lets the op `added` write over the tensor of the operand `before`. The result is the operand `after`.
    void overwrite(int before, int after, Added& added) const;
    /// Says whether an op of the step makes the tensor. Only a tensor that an op makes can be overwritten in
    /// place.
    bool made_by_of(TensorId tensor) const;
    /// Adds a state called `name` with the geometry and type of `number`. Behind the op `after`, adds an op
    /// that copies the operand `value` to this state.
    void tell(const char* name, int value, const Operand& number, OpId after);
    /// Says for each op whether `last` depends on it.
    std::vector<std::uint8_t> leading_to(OpId last) const;
    /// Returns an output of `op` that has no bytes. An op that reads this output must run after `op`.
    TensorId end_of(OpId op);
    /// Inserts all added ops into the step.
    void put_in_order();

    /// The ops that are added behind an op of the captured step, in order.
    std::vector<Added>& behind(OpId op) { return added_[op]; }

  protected:
    Graph& graph_;
    Tape& tape_;
    const DeviceRuntime& device_;
    IdVector<TensorId, OpId> made_by_;

  private:
    std::map<OpId, TensorId> ends_;
    std::map<OpId, std::vector<Added>> added_;
};

}  // namespace rematlas
